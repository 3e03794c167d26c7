#!/usr/bin/env bash
# Sets everything up (packages, builds) and runs all tests; ends in ctest's summary.
#   ./test.sh                      everything, in the time a CI run has
#   ./test.sh -R scheduler         arguments go to ctest
#   ESCALONA_LONG=1 ./test.sh      longer fuzzing and more seeds
set -euo pipefail
cd "$(dirname "$0")"
scripts/setup.sh build test
scripts/build.sh release
scripts/build.sh fuzz  # clang, with AddressSanitizer and UndefinedBehaviorSanitizer
echo "== running the tests"
exec scripts/test_preset.sh release - -j "$(nproc)" "$@"
