#!/usr/bin/env bash
# Builds and runs the benchmarks behind docs/performance.md: bench/run.sh [NAME...]
#   scheduler   escalona run: speed, linearity, memory (needs about 12 GB of disk; see ESCALONA_BENCH_DIR)
#   url         URL parsing beside Boost.URL
#   allocation  the solver beside memcpy, linearity, memory; other allocations beside the optimum
#   plan        escalona plan beside cut, 14.5 M pages (needs about 5 GB of disk)
#   assoc       the association engine and service beside Redis 7 and SQLite
#   wire        the frontier server over gRPC beside an echo service on the same stack
#   policy      what the choice of the next page costs
#   loop        beliefs and other estimators beside an oracle
#   experiment  the six-year experiment: freshness of the policies over seeds
#   frontier    the embedded frontier: puts, gets, memory, disk, restart (needs about 6 GB of disk)
# Files are made in the usual temporary folder, or in $ESCALONA_BENCH_DIR.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh build bench
scripts/build.sh release escalona_program escalona_benchmarks
build=build/release
[ $# -gt 0 ] || set -- scheduler url allocation plan assoc frontier wire policy loop experiment
for name; do
  case $name in
    scheduler) bench/scheduler.py $build ;;
    url) $build/bench/url_bench ;;
    allocation) $build/bench/allocation_bench 1e8 ;;
    plan) bench/plan_vs_cut.py $build/escalona ;;
    assoc) bench/assoc.py && bench/assoc_http.py $build ;;
    wire) $build/bench/frontier_wire run $build/escalona "${ESCALONA_BENCH_DIR:-/tmp}/escalona-wire-data" ;;
    loop) $build/bench/closed_loop ;;
    frontier) for what in put get queues restart; do $build/bench/frontier_bench $what; done ;;
    policy) $build/bench/revisit_policy_bench ;;
    experiment) bench/revisit_experiment.py --program $build/escalona ;;
    *) echo "bench/run.sh: no benchmark '$name'; names: scheduler url allocation plan assoc frontier wire policy loop experiment" >&2; exit 2 ;;
  esac
done
