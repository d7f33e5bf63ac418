#!/usr/bin/env bash
# compare.sh KEPT WORK PROGRAM ... - what the programs write of the plans must be what is kept.
set -eu
kept=$1 work=$2
shift 2
rm -rf "$work" && mkdir -p "$work"
for program in "$@"; do "$program" "$work"; done
[ "$(ls "$work" | wc -l)" -ge 60 ] || { echo "only $(ls "$work" | wc -l) plans"; exit 1; }
diff -r -U1 "$kept" "$work" >"$work.diff" || {
  head -n 60 "$work.diff"
  echo "$(grep -c '^diff' "$work.diff") plans are listed otherwise than in tests/golden/plans; where that is meant: scripts/golden"
  exit 1
}
