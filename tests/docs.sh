#!/usr/bin/env bash
# docs.sh DOCUMENT WORK run|check COMPILER ... - every program of a document (```cpp that includes cleave.hpp) must compile; with
# `run`, it must also run.
set -eu
document=$1 work=$2 how=$3
shift 3
rm -rf "$work" && mkdir -p "$work"
awk -v to="$work/" '/^```cpp$/ { file = sprintf("%s%02d.cpp", to, ++n); next } /^```/ { file = "" } file { print > file }' "$document"
programs=("$work"/*.cpp)
for program in "${programs[@]}"; do
  grep -q '^#include <cleave.hpp>$' "$program" || { echo "$program is no whole program"; exit 1; }
  if [ "$how" = run ]; then
    "$@" "$program" -o "${program%.cpp}"
    (cd "$work" && "${program%.cpp}")
  else
    "$@" -fsyntax-only "$program"
  fi
done
echo "${#programs[@]} programs of $(basename "$document"): $([ "$how" = run ] && echo 'compiled and run' || echo compiled)"
