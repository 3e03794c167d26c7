#!/usr/bin/env bash
# Builds targets of another preset and runs its tests:
#   scripts/test_preset.sh PRESET "TARGET..." [CTEST ARGUMENT...]
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck disable=SC2086
scripts/build.sh "$1" $2
exec ctest --preset "$1" --output-on-failure "${@:3}"
