#!/usr/bin/env bash
# Runs clang-tidy on the sources of the product, as they are compiled: one by one, or many at a time.
# What was checked is checked again only when it, a header, or .clang-tidy changed.
set -euo pipefail
cd "$(dirname "$0")/.."
# The compile commands of clang, and the headers it compiled.
[ -e build/fuzz/compile_commands.json ] || scripts/build.sh fuzz >/dev/null
stamps=build/tidy
mkdir -p "$stamps"
common=$(git ls-files --cached --others --exclude-standard '*.h' .clang-tidy | sort | xargs cat | sha256sum | cut -c1-16)

check() {
  local unit=$1 name contents stamp
  name=$(echo "$unit" | tr / _)
  contents=$({ cat "$unit"; sed -n 's/^#include "\(\/.*\.cc\)"$/\1/p' "$unit" | xargs -r cat; } | sha256sum | cut -c1-16)
  stamp=$stamps/$name.$common.$contents
  [ -e "$stamp" ] && return 0
  # A file that includes sources is not suspicious here.
  clang-tidy -p build/fuzz --quiet --checks=-bugprone-suspicious-include "$unit" >"$stamp.log" 2>&1 ||
    { cat "$stamp.log" >&2; rm -f "$stamp.log"; return 1; }
  rm -f "$stamps/$name".*
  touch "$stamp"
}
export -f check
export stamps common
# The longest first: those of many files.
python3 -c '
import json, os
top = os.getcwd() + "/"
units = {e["file"] for e in json.load(open("build/fuzz/compile_commands.json"))}
units = [u[len(top):] for u in units if u.startswith((top + "src/", top + "build/fuzz/src/")) and "/cmake_pch" not in u]
print("\n".join(sorted(units, key=lambda u: ("/Unity/" not in u, u))))' |
  xargs -P "$(nproc)" -I{} bash -c 'check {}'
