#!/usr/bin/env bash
# docs_errors.sh DOCUMENT INCLUDE - every message that the first column of a table in DOCUMENT quotes is in a header; and every
# message of a header is quoted there.
set -eu
awk -F' [|] ' '/^[|] `/ { sub(/^[|] /, "", $1); print $1 }' "$1" | sed 's/`, `/\n/g; s/^`//; s/`\(\n\|$\)/\1/g' |
  python3 "$(dirname "$0")/docs_errors.py" "$2"
