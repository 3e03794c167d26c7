#!/usr/bin/env bash
# Sets everything up (packages, build) and runs Escalona.
#   ./run.sh            the main job: escalona serve
#   ./run.sh ARGS...    escalona ARGS...
set -euo pipefail
root=$(cd "$(dirname "$0")" && pwd)
"$root/scripts/setup.sh" build >&2
make --no-print-directory -C "$root" >&2

[ $# -gt 0 ] || set -- serve
exec "$root/bin/escalona" "$@"
