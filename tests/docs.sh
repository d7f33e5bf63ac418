#!/usr/bin/env bash
# docs.sh DOCUMENT WORK run|check COMPILER ... - the C++ of a document compiles; with `run`, its programs also run.
# All fragments are compiled in one unit.
#   ```cpp with `#include <cleave.hpp>`: a program.
#   ```cpp without: a fragment. It is compiled after `#include <cleave.hpp>`, `using namespace cleave;` and all earlier blocks, each
#   in a namespace within that of the block before, so that a block sees the names of earlier ones and may define them anew.
#   ```output: what the program before it prints; figures may differ.
#   ```cpp refused: a fragment that must not compile; the `error: ` of the block after it must be in the compiler's output.
set -euo pipefail
document=$1 work=$2 how=$3
shift 3
rm -rf "$work" && mkdir -p "$work"
awk -v to="$work/" '
  /^```/ { if (file) { close(file); file = "" } else { said = kind == "refused"; kind = $0 == "```cpp" ? "cpp" : $0 == "```cpp refused" ? "refused" : ""
             file = said ? sprintf("%s%02d.said", to, n) : $0 == "```output" ? sprintf("%s%02d.output", to, n) : kind ? sprintf("%s%02d.%s", to, ++n, kind) : "/dev/null" }; next }
  file { print > file }' "$document"
shopt -s nullglob
blocks=("$work"/*.cpp "$work"/*.refused)
[ ${#blocks[@]} -gt 0 ] || { echo "no C++ in $document"; exit 1; }
mapfile -t blocks < <(printf '%s\n' "${blocks[@]}" | sort)

# in_context BLOCK ... - the last block, after all others; what a block includes stands before it, not before an earlier one
in_context() {
  local open= block name
  printf '#include <cleave.hpp>\nusing namespace cleave;\n'
  for block in "$@"; do
    name=block_$(basename "${block%.*}")
    sed '/^#include/!d; /<cleave.hpp>/d' "$block"
    open=$open${open:+::}$name
    printf 'namespace %s {\n#line 1 "%s"\n' "$open" "$block"
    sed 's/^#include.*//; s/^using namespace cleave;$//' "$block"
    printf '}\n'
  done
}
figures() { sed -E 's/-?[0-9][0-9.,e+-]*/#/g; s/ +/ /g'; }
tr -cd '\0-\177' <"$document" >"$work/plays.txt"  # a text to learn from
earlier=() to_last=() programs=0 fragments=0 refused=0
for block in "${blocks[@]}"; do
  name=${block%.*}
  if [[ $block == *.refused ]]; then
    in_context "${earlier[@]}" "$block" >"$name.context.cpp"
    error=$(sed -n 's/^.*error: //p' "$name.said" 2>/dev/null | head -n 1) || true
    [ -n "$error" ] || { echo "$document: no error follows $(cat "$block")"; exit 1; }
    ! said=$("$@" -fsyntax-only "$name.context.cpp" 2>&1) || { echo "$document: this compiles: $(cat "$block")"; exit 1; }
    [[ $said == *"$error"* ]] || { echo "$document: the compiler does not say: $error"; echo "$said"; exit 1; }
    refused=$((refused + 1))
    continue
  fi
  if ! grep -q '^#include <cleave.hpp>$' "$block"; then
    to_last=("${earlier[@]}" "$block")
    fragments=$((fragments + 1))
  elif [ "$how" = run ]; then
    "$@" "$block" -o "$name"
    (cd "$work" && "$name") | tee "$name.printed"
    [ ! -f "$name.output" ] || diff <(figures <"$name.output") <(figures <"$name.printed") || {
      echo "$document: $block prints other lines than the document shows"
      exit 1
    }
    programs=$((programs + 1))
  else
    "$@" -fsyntax-only "$block"
    programs=$((programs + 1))
  fi
  earlier+=("$block")
done
if [ $fragments -gt 0 ]; then
  in_context "${to_last[@]}" >"$work/context.cpp"
  "$@" -fsyntax-only "$work/context.cpp"
fi
echo "$(basename "$document"): $programs programs $([ "$how" = run ] && echo 'compiled and run' || echo compiled), $fragments fragments compiled, $refused refused"
