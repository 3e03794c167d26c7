#!/usr/bin/env bash
# Configures (once) and builds one CMake preset: scripts/build.sh PRESET [TARGET...]
# Prints one line and the compiler's complaints; the full log is build/PRESET/build.log.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=$1
shift
targets=()
[ $# -eq 0 ] || targets=(--target "$@")
mkdir -p "build/$preset"
log=build/$preset/build.log
echo "== building $preset"
# Always, because it is quick and finds packages that were installed since.
cmake --preset "$preset" >"$log" 2>&1 || { cat "$log" >&2; exit 2; }
if [ -t 1 ]; then
  cmake --build --preset "$preset" "${targets[@]}" 2>&1 | tee "$log"
else
  cmake --build --preset "$preset" "${targets[@]}" >"$log" 2>&1 || { tail -n 60 "$log" >&2; exit 2; }
fi
