#!/usr/bin/env bash
# Sets everything up (packages, build) and runs Escalona.
#   ./run.sh            the main job: answers examples/coleta1.txt and shows question and answer
#   ./run.sh ARGS...    escalona ARGS...
set -euo pipefail
root=$(cd "$(dirname "$0")" && pwd)
"$root/scripts/setup.sh" build >&2
make --no-print-directory -C "$root" >&2

if [ $# -gt 0 ]; then
  exec "$root/bin/escalona" "$@"
fi
cd "$root"
echo "== question: examples/coleta1.txt"
cat examples/coleta1.txt
echo
echo "== answer: escalona run examples/coleta1.txt  ->  examples/coleta1-out.txt"
bin/escalona run examples/coleta1.txt
cat examples/coleta1-out.txt
