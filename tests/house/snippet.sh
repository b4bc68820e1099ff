#!/usr/bin/env bash
# snippet.sh README EXAMPLE: the README's first C++ block is the example's text between the lines
# "// [snippet]" and "// [/snippet]", less the indentation of the first.
set -euo pipefail
indent=$(sed -n 's/^\( *\)\/\/ \[snippet\]$/\1/p' "$2")
example=$(sed -n '/^ *\/\/ \[snippet\]$/,/^ *\/\/ \[\/snippet\]$/p' "$2" | sed '1d;$d' | sed "s/^$indent//")
readme=$(awk '/^```cpp$/ {inside = 1; next} /^```$/ {if (inside) exit} inside' "$1")
[ -n "$example" ] || { echo "$2: nothing between // [snippet] and // [/snippet]"; exit 1; }
diff <(echo "$example") <(echo "$readme") || { echo "$1 shows something else than $2"; exit 1; }
