#!/usr/bin/env bash
# bits.sh NVCC SOURCE ROOT FOLDER - updates say each multiply-add: the compiler has none left to make of a product and a
# sum, which it might do in one kernel and not in another. So the code is the same whether it may or not.
set -eu
nvcc=$1 source=$2 root=$3 folder=$4
mkdir -p "$folder"
for may in true false; do
  "$nvcc" -std=c++20 -gencode arch=compute_90,code=compute_90 -fmad="$may" -ptx -I"$root/include" "$source" -o "$folder/$may.ptx"
  # `.rn` only says that nothing may be contracted; comments and names of registers say nothing
  sed -E 's/\b(mul|add|sub)\.rn\.f/\1.f/; s/%[a-z]+[0-9]+/R/g; /^\/\//d' "$folder/$may.ptx" >"$folder/$may.txt"
done
kernels=$(grep -c '^\.visible \.entry\|^\.weak \.entry\|\.entry ' "$folder/true.ptx")
[ "$kernels" -ge 30 ] || { echo "only $kernels updates were compiled"; exit 1; }
if ! cmp -s "$folder/true.txt" "$folder/false.txt"; then
  echo "the compiler contracts products and sums in updates:"
  diff "$folder/true.txt" "$folder/false.txt" | head -n 12
  exit 1
fi
echo "$kernels updates: no product and sum is left to the compiler"
