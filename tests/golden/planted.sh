#!/usr/bin/env bash
# planted.sh KEPT WORK - four changes, each planted in a copy of the headers, must be found: an order of additions by
# training, a line of a listing, a byte of an arena and a transfer by the plans that are kept as text.
set -eu
cd "$(dirname "$0")/../.."
kept=$1 work=$2 failed=0
cxx=${CXX:-g++}
rm -rf "$work" && mkdir -p "$work"

# built HEADERS SOURCE OPTION TO
built() { $cxx -std=c++20 -O0 "$3" -I "$1" -I tests/golden -pthread "tests/golden/$2" -o "$4"; }

# written HEADERS FOLDER - a few plans as text
written() {
  mkdir -p "$2/plans"
  built "$1" listings.cpp -DGOLDEN=0 "$2/listings"
  "$2/listings" "$2/plans"
}
# trained HEADERS FOLDER - what a few plans come to
trained() {
  mkdir -p "$2"
  built "$1" train.cpp -DGOLDEN_FEW "$2/train"
  "$2/train" "$2" >"$2/trained.txt"
}
# planted FOLDER FILE FROM TO - in the headers of a folder, which are copied when it is new
planted() {
  local folder=$work/$1 file=$work/$1/include/cleave/$2 text
  [ -d "$folder" ] || { mkdir -p "$folder" && cp -R include "$folder/include"; }
  text=$(<"$file")
  [[ $text == *"$3"* ]] || { echo "$2 has no line to plant a change in: $3"; exit 1; }
  printf '%s\n' "${text/"$3"/"$4"}" >"$file"
}
# found WHAT LINES - the lines that show it
found() {
  local lines=0
  [ -z "$2" ] || lines=$(wc -l <<<"$2")
  if [ "$lines" -eq 0 ]; then
    echo "$1: not found" && failed=1
  else
    echo "$1: found, $lines lines"
  fi
}
differing() {  # lines of the plans of a folder that are not the kept ones'
  local file
  for file in "$1"/plans/*.txt; do
    diff "$kept/${file##*/}" "$file" | grep '^>' || true
  done
}

# Three changes of what is written, each of which shows in lines of its own
planted written schedule/listing.hpp 'm < 0 ? "add"' 'm < 0 ? "sum"'
planted written schedule/arena.hpp 'out.buffer[k] += begin;' 'out.buffer[k] += begin + (k == 2);'
planted written send/ring.hpp 'rank, n, rank - round, false' 'rank, n, rank + 1 - round, false'
written "$work/written/include" "$work/written"
lines=$(differing "$work/written")
found line "$(grep '+sum' <<<"$lines" || true)"
found byte "$(grep '^> buffers: ' <<<"$lines" || true)"
found transfer "$(grep '^> step [0-9]*: rank' <<<"$lines" || true)"
trained include "$work/none"
planted order backend/gpu/kernels/columns.hpp 'for (int w = 1; w < warps; ++w)' 'for (int w = warps - 1; w > 0; --w)'
trained "$work/order/include" "$work/order"
found order "$(diff "$work/none/trained.txt" "$work/order/trained.txt" | grep '^>' || true)"
exit $failed
