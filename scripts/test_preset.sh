#!/usr/bin/env bash
# Builds another preset and runs its tests: scripts/test_preset.sh PRESET [CTEST ARGUMENT...]
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/build.sh "$1"
exec ctest --preset "$1" --output-on-failure "${@:2}"
