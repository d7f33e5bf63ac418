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
# planted WHAT FILE FROM TO HOW - WHAT must be found where FROM is TO in a header; HOW is one of the two above
planted() {
  local folder=$work/$1 file=$work/$1/include/cleave/$2 text
  mkdir -p "$folder" && cp -R include "$folder/include"
  text=$(<"$file")
  [[ $text == *"$3"* ]] || { echo "$2 has no line to plant $1 in: $3"; exit 1; }
  printf '%s\n' "${text/"$3"/"$4"}" >"$file"
  "$5" "$folder/include" "$folder"
}
found() {
  if [ "$2" -eq 0 ]; then
    echo "$1: not found" && failed=1
  else
    echo "$1: found, $2 lines"
  fi
}
differing() {  # lines of the plans of a folder that are not the kept ones'
  local file n=0
  for file in "$1"/plans/*.txt; do
    n=$((n + $(diff "$kept/${file##*/}" "$file" | grep -c '^>' || true)))
  done
  echo "$n"
}

written include "$work/none"
[ "$(differing "$work/none")" -eq 0 ] || { echo "the plans differ from those that are kept before any change"; exit 1; }
planted line schedule/listing.hpp 'm < 0 ? "add"' 'm < 0 ? "sum"' written
found line "$(differing "$work/line")"
planted byte schedule/arena.hpp 'out.buffer[k] += begin;' 'out.buffer[k] += begin + (k == 2);' written
found byte "$(differing "$work/byte")"
planted transfer send/ring.hpp 'rank, n, rank - round, false' 'rank, n, rank + 1 - round, false' written
found transfer "$(differing "$work/transfer")"
trained include "$work/none"
planted order backend/gpu/kernels/columns.hpp 'for (int w = 1; w < warps; ++w)' 'for (int w = warps - 1; w > 0; --w)' trained
found order "$(diff "$work/none/trained.txt" "$work/order/trained.txt" | grep -c '^>' || true)"
exit $failed
