#!/usr/bin/env bash
# Runs one fuzz target from its seeds: scripts/fuzz.sh NAME [SECONDS]
# 60 s by default for what reads the files of users, 15 s for the rest, always with the same random
# numbers, so that a change is judged by what it changed. With ESCALONA_LONG=1 or SECONDS: 1800 s or
# SECONDS of new ones. An input that fails is kept in build/fuzz/artifacts/.
set -euo pipefail
cd "$(dirname "$0")/.."
name=$1
case $name in url | command_url | command_file) usual=60 ;; *) usual=15 ;; esac
seconds=${2:-${ESCALONA_LONG:+1800}}
corpus=$(mktemp -d)
trap 'rm -rf "$corpus"' EXIT
mkdir -p build/fuzz/artifacts
seeds=tests/fuzz/corpus/$name
dictionary=tests/fuzz/$name.dict
arguments=(-max_total_time="${seconds:-$usual}" -timeout=20 -rss_limit_mb=4096 -print_final_stats=1
           -artifact_prefix="build/fuzz/artifacts/$name-" -verbosity=0)
[ -n "$seconds" ] || arguments+=(-seed=1)
[ -f "$dictionary" ] && arguments+=(-dict="$dictionary")
[ -d "$seeds" ] || seeds=
"build/fuzz/tests/fuzz/fuzz_$name" "${arguments[@]}" "$corpus" $seeds
