#!/usr/bin/env bash
# Builds and runs the benchmarks behind docs/performance.md: bench/run.sh [NAME...]
#   scheduler   escalona run: speed, linearity, memory (needs about 12 GB of disk; see ESCALONA_BENCH_DIR)
#   url         URL parsing beside Boost.URL
# Files are made in the usual temporary folder, or in $ESCALONA_BENCH_DIR.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh build bench
scripts/build.sh release escalona_program escalona_benchmarks
build=build/release
[ $# -gt 0 ] || set -- scheduler url
for name; do
  case $name in
    scheduler) bench/scheduler.py $build ;;
    url) $build/bench/url_bench ;;
    *) echo "bench/run.sh: no benchmark '$name'; names: scheduler url" >&2; exit 2 ;;
  esac
done
