#!/usr/bin/env bash
# Builds targets of another preset and runs its tests:
#   scripts/test_preset.sh PRESET "TARGET..." [CTEST ARGUMENT...]
# With - for the targets nothing is built: test.sh has done so. A test has 5 minutes, or 2 hours with ESCALONA_LONG=1.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck disable=SC2086
[ "$2" = - ] || scripts/build.sh "$1" $2
seconds=${ESCALONA_LONG:+7200}
exec ctest --preset "$1" --output-on-failure --timeout "${seconds:-300}" "${@:3}"
