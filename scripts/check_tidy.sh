#!/usr/bin/env bash
# Runs clang-tidy on the sources of the product; on those of the server and its client only with ESCALONA_LONG=1, since the headers of
# gRPC and Beast take half of the time. A file is checked again only when it, a header, or .clang-tidy changed.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/build.sh fuzz >/dev/null  # compile commands of clang
stamps=build/tidy
mkdir -p "$stamps"
common=$(git ls-files --cached --others --exclude-standard '*.h' .clang-tidy | sort | xargs cat | sha256sum | cut -c1-16)

check() {
  local file=$1 stamp
  stamp=$stamps/$(echo "$file" | tr / _).$common.$(sha256sum "$file" | cut -c1-16)
  [ -e "$stamp" ] && return 0
  clang-tidy -p build/fuzz --quiet "$file" 2>"$stamp.log" || { cat "$stamp.log" >&2; rm -f "$stamp.log"; return 1; }
  rm -f "$stamp.log" "$stamps/$(echo "$file" | tr / _)".*
  touch "$stamp"
}
export -f check
export stamps common
python3 -c '
import json, os
top = os.getcwd() + "/"
files = {e["file"] for e in json.load(open("build/fuzz/compile_commands.json"))}
print("\n".join(sorted(f[len(top):] for f in files if f.startswith(top + "src/")
  and (os.environ.get("ESCALONA_LONG") or not any(part in f for part in ("/src/server/", "/cli/client", "/cli/serve"))))))' |
  xargs -P "$(nproc)" -I{} bash -c 'check {}'
