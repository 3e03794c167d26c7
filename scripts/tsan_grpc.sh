#!/usr/bin/env bash
# The gRPC server under load with ThreadSanitizer:
#   scripts/tsan_grpc.sh [CTEST ARGUMENT...]      by default the tests that run the server
# ThreadSanitizer takes what it cannot see for races, and Debian's libraries are built without it. So Abseil, Protocol
# Buffers and gRPC are built with it first, from the sources of Debian's packages in the versions installed here, into
# build/tsan-libraries: half an hour or more on two cores, once. Nothing outside build/ changes.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD/build/tsan-libraries
mkdir -p "$root"/{sources,apt/lists/partial,apt/parts}
scripts/setup.sh build test tsan

apt=(-o Dir::Etc::SourceList=/dev/null -o "Dir::Etc::SourceParts=$root/apt/parts"
     -o "Dir::State::lists=$root/apt/lists" -o APT::Sandbox::User=root -qq)

list_sources() {
  [ ! -e "$root/apt/parts/debian.list" ] || return 0
  # shellcheck disable=SC2016
  apt-get indextargets 'Created-By: Packages' 'Origin: Debian' --format \
    'deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $(REPO_URI) $(RELEASE) $(COMPONENT)' \
    >"$root/apt/parts/debian.list"
  apt-get "${apt[@]}" update
}

fetch() {  # SOURCE INSTALLED_PACKAGE
  [ ! -d "$root/sources/$1" ] || return 0
  list_sources
  local version
  version=$(dpkg-query -W -f '${source:Version}' "$2")
  (cd "$root/sources" && apt-get "${apt[@]}" source --download-only "$1=$version" >/dev/null)
  dpkg-source --no-check -x "$root/sources/$1"_*.dsc "$root/sources/$1" >/dev/null
}

build() {  # SOURCE [CMAKE ARGUMENT...]
  local to=$root/$1 log=$root/$1.log
  [ ! -e "$to.done" ] || return 0
  echo "== building $1 with ThreadSanitizer; log: ${log#"$PWD/"}"
  {
    cmake -S "$root/sources/$1" -B "$to" -G Ninja "${@:2}" \
      -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_{C,CXX}_FLAGS_RELWITHDEBINFO="-O1 -g1" \
      -DCMAKE_{C,CXX}_FLAGS="-fsanitize=thread -fno-omit-frame-pointer -w" -DCMAKE_CXX_STANDARD=17 \
      -DBUILD_SHARED_LIBS=OFF -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DCMAKE_INSTALL_LIBDIR=lib \
      -DCMAKE_PREFIX_PATH="$root/installed" -DCMAKE_INSTALL_PREFIX="$root/installed" &&
      cmake --build "$to" && cmake --install "$to"
  } >"$log" 2>&1 || { tail -n 40 "$log" >&2; exit 2; }
  touch "$to.done"
}

fetch abseil libabsl-dev
fetch protobuf libprotobuf-dev
fetch grpc libgrpc++-dev
build abseil -DABSL_PROPAGATE_CXX_STD=ON
build protobuf -Dprotobuf_BUILD_TESTS=OFF -Dprotobuf_BUILD_PROTOC_BINARIES=OFF -Dprotobuf_BUILD_LIBPROTOC=ON
build grpc -DgRPC_BACKWARDS_COMPATIBILITY_MODE=OFF -DgRPC_{ABSL,CARES,PROTOBUF,RE2,SSL,ZLIB}_PROVIDER=package \
  -DgRPC_BUILD_GRPC_{CSHARP,NODE,OBJECTIVE_C,PHP,PYTHON,RUBY}_PLUGIN=OFF

# In files, since some tests kill the server, which then says nothing at its end.
reports=$PWD/build/tsan-grpc/reports
rm -rf "$reports"
mkdir -p "$reports"
export TSAN_OPTIONS="log_path=$reports/race suppressions=$PWD/scripts/tsan_suppressions.txt"
[ $# -gt 0 ] || set -- -R '^(Wire|wire\.|server\.)'
status=0
scripts/test_preset.sh tsan-grpc "escalona_program wire_test" "$@" || status=$?
if [ -n "$(ls "$reports")" ]; then
  cat "$reports"/*
  exit 1
fi
exit $status
