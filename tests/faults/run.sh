#!/usr/bin/env bash
# run.sh [BUILD_DIR] [PATTERN]: do the pool's tests see a mistake? Each fault of faults.txt (or those
# that match PATTERN) is put into a copy of the tree, which is built and tested; a fault that no test
# sees fails the run, and so does one whose text is no longer there. Takes minutes, so it is no part
# of continuous integration. BUILD_DIR holds the copy (default: a new folder below /tmp).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
work=${1:-$(mktemp -d)}
pattern=${2:-.}
limit=${FAULT_LIMIT_S:-300}  # a test that runs for longer has seen the fault, too

mkdir -p "$work/tree"
(cd "$root" && git ls-files -z | tar --null -T - -cf -) | tar -xmf - -C "$work/tree"
cmake -S "$work/tree" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DFOREBAY_CUDA=OFF \
  -DFOREBAY_BUILD_TOOLS=OFF -DFOREBAY_TEST_MODULES=pool ${CMAKE_ARGS:-} >"$work/cmake.log"

build() { ninja -C "$work/build" pool_tests >"$work/build.log" 2>&1; }
run_tests() {
  (cd "$work/tree" && timeout "$limit" "$work/build/bin/pool_tests" --abort) >"$work/test.log" 2>&1
}

build && run_tests || { echo "without a fault: the build or a test fails, see $work"; exit 1; }

seen=0 survived=0
while IFS= read -r line; do
  [[ $line != \#* && -n $line ]] || continue
  [[ $line =~ $pattern ]] || continue
  name=$(python3 "$here/seed.py" "$root" "$work/tree" "$line") || { survived=$((survived + 1)); continue; }
  if ! build; then
    echo "BROKEN    $name: does not compile, see $work/build.log"
    survived=$((survived + 1))
  elif run_tests; then
    echo "SURVIVED  $name"
    survived=$((survived + 1))
  else
    by=$(python3 "$here/seed.py" --seen-by "$work/test.log")
    echo "caught    $name: $by"
    seen=$((seen + 1))
  fi
  python3 "$here/seed.py" --restore "$root" "$work/tree" "$line"
done <"$here/faults.txt"
echo "$seen faults caught, $survived not"
[ "$survived" -eq 0 ]
