#!/usr/bin/env bash
# self_test.sh: each check of this folder objects to the fault that it exists for.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
failed=0

fresh() {
  rm -rf "${tree:?}"/*
  mkdir -p "$tree"/{cmake,pool,runtime,compute,nn,tools,tests/pool}
  echo '#include "pool/a.hpp"' >"$tree/pool/a.cpp"
  echo '#include "forebay/pool/pool.hpp"' >"$tree/nn/b.hpp"
  touch "$tree/tests/pool/a_test.cpp"
}
expect() {  # expect 0|1 WHAT COMMAND…
  local want=$1 what=$2 got=0
  shift 2
  "$@" >"$tree.out" 2>&1 || got=1
  [ "$got" = "$want" ] || { echo "$what: expected $want, got $got"; cat "$tree.out"; failed=1; }
  rm -f "$tree.out"
}

fresh
expect 0 "a good tree" "$here/layers.sh" "$tree"
expect 0 "a good tree" "$here/file_length.sh" "$tree"
expect 0 "a good tree" "$here/test_names.sh" "$tree"
echo '#include "forebay/runtime/log.hpp"' >>"$tree/pool/a.cpp"
expect 1 "an include that points up" "$here/layers.sh" "$tree"
fresh
echo '#include <cuda.h>' >>"$tree/pool/a.cpp"
expect 1 "a GPU header in the pool" "$here/layers.sh" "$tree"
fresh
seq 601 >"$tree/nn/long.hpp"
expect 1 "a file of 601 lines" "$here/file_length.sh" "$tree"
fresh
touch "$tree/pool/untested.cpp"
expect 1 "a source without a test" "$here/test_names.sh" "$tree"

printf 'int main() {\n  // [snippet]\n  f();\n  // [/snippet]\n}\n' >"$tree/example.cpp"
# shellcheck disable=SC2016
printf 'text\n```cpp\nf();\n```\n' >"$tree/README.md"
expect 0 "the README shows the example" "$here/snippet.sh" "$tree/README.md" "$tree/example.cpp"
sed -i 's/f()/g()/' "$tree/example.cpp"
expect 1 "the README shows another example" "$here/snippet.sh" "$tree/README.md" "$tree/example.cpp"

mkdir "$tree/bin"
expect 1 "a folder without programs" "$here/linkage.sh" "$tree/bin"
echo 'void f() {}' | c++ -x c++ -shared -o "$tree/libnvrtc.so.13" -Wl,-soname,libnvrtc.so.13 -
echo 'void f(); int main() { f(); }' >"$tree/main.cpp"
c++ -o "$tree/bin/p" "$tree/main.cpp" "$tree/libnvrtc.so.13"
expect 1 "a program linked with NVRTC" "$here/linkage.sh" "$tree/bin"
echo 'int main() {}' | c++ -x c++ -o "$tree/bin/p" -
expect 0 "a program linked with no GPU library" "$here/linkage.sh" "$tree/bin"
exit $failed
