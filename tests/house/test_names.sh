#!/usr/bin/env bash
# test_names.sh ROOT: every .cpp of a layer has a test of the same name, NAME_test.cpp below
# tests/LAYER or tests/gpu. A program's main.cpp only starts what other files hold.
set -euo pipefail
cd "$1"
failed=0
while IFS= read -r -d '' source; do
  layer=${source%%/*} name=$(basename "$source" .cpp)
  [ "$name" != main ] || continue
  places=("tests/$layer")
  [ ! -d tests/gpu ] || places+=(tests/gpu)
  [ -n "$(find "${places[@]}" -name "${name}_test.cpp" 2>/dev/null)" ] ||
    { echo "$source: no ${name}_test.cpp below tests/$layer"; failed=1; }
done < <(find pool runtime compute nn tools -name '*.cpp' -not -path 'tools/examples/*' -print0 | sort -z)
# ctest hands each name to a program whose options begin with a dash.
if grep -rnE 'TEST_CASE\("-' tests; then
  echo "a test's name may not begin with a dash"
  failed=1
fi
exit $failed
