#!/usr/bin/env bash
# Installs the Debian packages of packages.txt that are missing.
#   scripts/setup.sh build          what building and running needs
#   scripts/setup.sh build test     also what the tests need
# Does nothing, and needs no root, when everything is there.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)

[ $# -gt 0 ] || set -- build
wanted=$(awk -v groups="$*" '
  BEGIN { n = split(groups, g, " "); for (i = 1; i <= n; ++i) want[g[i]] = 1 }
  /^[a-z]/ && ($1 in want) { print $2 }' "$root/packages.txt")

installed=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' | awk '$1 == "installed" { print $2 }')
missing=$(comm -23 <(sort -u <<<"$wanted") <(sort -u <<<"$installed"))
[ -n "$missing" ] || exit 0

if [ "$(id -u)" -eq 0 ]; then
  sudo=()
elif command -v sudo >/dev/null; then
  sudo=(sudo)
else
  echo "setup: these packages are missing and this user cannot install them: ${missing//$'\n'/ }" >&2
  echo "setup: run as root, install sudo, or install them with apt-get" >&2
  exit 2
fi

count=$(wc -l <<<"$missing")
echo "== installing $count Debian package(s): ${missing//$'\n'/ }"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086
if ! { "${sudo[@]}" apt-get update && "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive \
       apt-get install -y --no-install-recommends $missing; } >"$log" 2>&1 </dev/null; then
  tail -n 20 "$log" >&2
  echo "setup: apt-get failed (above); Escalona needs Debian 12 with its package mirror reachable" >&2
  exit 2
fi
