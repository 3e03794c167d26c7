#!/usr/bin/env bash
# Installs into a new prefix, builds the example against the package found there, runs it.
#   check_install.sh BUILD_DIR SOURCE_DIR
set -euo pipefail
build=$1
source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --install "$build" --prefix "$work/prefix" >/dev/null
for file in bin/escalona include/escalona/scheduler.h share/man/man1/escalona.1 \
            share/bash-completion/completions/escalona; do
  [ -s "$work/prefix/$file" ] || { echo "not installed, or empty: $file"; exit 1; }
done
if find "$work/prefix/include" -type f | grep -v '/include/escalona/[a-z_]*\.h$'; then
  echo "internal files are installed (above)"; exit 1
fi

cmake -S "$source/examples/library" -B "$work/example" -G Ninja -DCMAKE_PREFIX_PATH="$work/prefix" >"$work/log" 2>&1 \
  && cmake --build "$work/example" >>"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
expected='3 of 5 URLs accepted, 2 hosts known
fetch http://globo.com
fetch http://uol.com.br/esporte
fetch http://globo.com/videos'
diff <(echo "$expected") <("$work/example/two_hosts")

# The crawler crawls everything, and finds nothing left when it is started again.
cmake -S "$source/examples/crawler" -B "$work/crawler" -G Ninja -DCMAKE_PREFIX_PATH="$work/prefix" >"$work/log" 2>&1 \
  && cmake --build "$work/crawler" >>"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
diff <(echo '1000 pages fetched, 1000 known in 20 queues') <("$work/crawler/crawler" "$work/data")
diff <(echo '0 pages fetched, 1000 known in 20 queues') <("$work/crawler/crawler" "$work/data")
"$work/prefix/bin/escalona" store check "$work/data" | grep -q 'all is well'
"$work/prefix/bin/escalona" --version
