#!/usr/bin/env bash
# docs_errors.sh DOCUMENT INCLUDE - every message that the first column of a table in DOCUMENT quotes is in a header; and every
# message of a header is quoted there (docs_errors.py).
set -eu
document=$1 include=$2
# Adjacent literals are one text.
sources=$(find "$include" -name '*.hpp' -exec cat {} + | sed -z 's/"[[:space:]]*"//g')
quoted=$(awk -F' [|] ' '/^[|] `/ { sub(/^[|] /, "", $1); print $1 }' "$document" | sed 's/`, `/\n/g; s/^`//; s/`\(\n\|$\)/\1/g')
quotations=0 missing=0
while IFS= read -r quotation; do
  quotations=$((quotations + 1))
  [[ $sources == *"$quotation"* ]] || { echo "no header says: $quotation"; missing=1; }
done <<<"$quoted"
[ $quotations -gt 300 ] || { echo "only $quotations quotations were found"; exit 1; }
[ $missing -eq 0 ]
python3 "$(dirname "$0")/docs_errors.py" "$include" <<<"$quoted"
echo "$quotations quotations of $(basename "$document") are in the headers"
