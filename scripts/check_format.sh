#!/usr/bin/env bash
# Fails when a source is not formatted as .clang-format says; `make format` mends it.
set -euo pipefail
cd "$(dirname "$0")/.."
git ls-files -z --cached --others --exclude-standard '*.h' '*.cc' | xargs -0 clang-format --dry-run -Werror
