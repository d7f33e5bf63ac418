#!/usr/bin/env bash
# resources.sh NVCC ARCH SOURCE ROOT FOLDER - what ptxas says of the kernels: no spill, no stack, pairs within 3 %, and 16
# bytes an access in those that stream.
set -eu
nvcc=$1 arch=$2 source=$3 root=$4 folder=$5
folder=$folder/$arch
mkdir -p "$folder"
"$nvcc" -std=c++20 -O3 -arch="$arch" -cubin --keep --keep-dir "$folder" -I"$root/include" -Xptxas -v "$source" -o "$folder/$arch.cubin" 2>"$folder/$arch.txt" || { cat "$folder/$arch.txt"; exit 1; }
awk '
  /Compiling entry function/ { split($0, part, "\047"); name = part[2]; ++kernels }
  /bytes stack frame/ && !/^ *0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads/ { print "spills: " name ": " $0; ++wrong }
  END { print kernels " kernels, " wrong + 0 " with spills or a stack"; exit wrong > 0 || kernels == 0 }' "$folder/$arch.txt"
awk '
  /\.entry/ { name = $0; reads = writes = 0 }
  /ld\.global\.v4\.[fub]32|ld\.global\.v2\.[fub]64/ { ++reads }
  /st\.global\.v2\.[ub]64|st\.global\.[ub]64/ { ++writes }  # a copy in bf16 of 16 bytes has 8
  /^}/ && name ~ /gpu(6Update|4Keep|4Copy|5AddTo|9AddValues|9SumLeaves|4Take)I/ {
    ++kernels
    if (!reads || !writes) { print "element by element: " name; ++wrong }
    name = ""
  }
  END { print kernels + 0 " kernels read and write 16 bytes at once"; exit wrong > 0 || kernels < 8 }' "$folder/$(basename "$source" .cu).ptx"
# 16 bytes an instruction; a function is filled up to 128
readelf -SW "$folder/$arch.cubin" 2>/dev/null | awk '
  function value(hex,   i, v) {
    for (i = 1; i <= length(hex); ++i) v = 16 * v + index("0123456789abcdef", substr(hex, i, 1)) - 1
    return v
  }
  match($0, / \.text\.[^ ]+/) {
    name = substr($0, RSTART + 7, RLENGTH - 7)
    split(substr($0, RSTART + RLENGTH), field)
    count[name] = value(field[4]) / 16
  }
  END {
    for (n in count) if (match(n, /twin_[A-Za-z]+/)) {
      word = substr(n, RSTART + 5, RLENGTH - 5)
      sub(/N[0-9]?$/, "", word)
      ours = 0
      for (m in count) if (m ~ /5entry/ && index(m, word)) ours = count[m]
      print word ": " ours " instructions, by hand " count[n]
      ++pairs
      if (ours == 0 || ours > 1.03 * count[n] + 8) { print word ": more than one would write by hand"; ++wrong }
    }
    if (pairs < 3) { print "pairs are missing"; ++wrong }
    exit wrong > 0
  }'
awk '
  /Compiling entry function/ { split($0, part, "\047"); name = part[2] }
  /Used [0-9]+ registers/ { match($0, /Used [0-9]+/); used[name] = substr($0, RSTART + 5, RLENGTH - 5) + 0 }
  END {
    for (n in used) if (match(n, /twin_[A-Za-z]+/)) {
      word = substr(n, RSTART + 5, RLENGTH - 5)
      sub(/N[0-9]?$/, "", word)
      for (m in used) if (m ~ /5entry/ && index(m, word)) ours = used[m]
      print word ": " ours " registers, by hand " used[n]
      if (ours > used[n] + 2) { print word ": more registers than by hand"; ++wrong }
    }
    exit wrong > 0
  }' "$folder/$arch.txt"
