#!/usr/bin/env bash
# test_names.sh ROOT: every .cpp of a layer has a test of the same name, NAME_test.cpp below
# tests/LAYER or tests/gpu. A program's main.cpp only starts what other files hold.
set -euo pipefail
cd "$1"
failed=0
declare -A known  # LAYER/NAME
while IFS= read -r -d '' path; do
  layer=${path#tests/} name=${path##*/}
  known[${layer%%/*}/${name%_test.cpp}]=1
done < <(find tests -name '*_test.cpp' -print0)
while IFS= read -r -d '' source; do
  layer=${source%%/*} name=${source##*/}
  name=${name%.cpp}
  [ "$name" != main ] || continue
  [ -n "${known[$layer/$name]:-}${known[gpu/$name]:-}" ] ||
    { echo "$source: no ${name}_test.cpp below tests/$layer"; failed=1; }
done < <(find pool runtime compute nn tools -name '*.cpp' -not -path 'tools/examples/*' -print0 | sort -z)
# ctest hands each name to a program whose options begin with a dash.
if grep -rnE 'TEST_CASE\("-' tests; then
  echo "a test's name may not begin with a dash"
  failed=1
fi
exit $failed
