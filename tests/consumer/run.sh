#!/usr/bin/env bash
# run.sh package BUILD: builds the consumer against what BUILD installs, and runs its programs.
# run.sh tree SOURCE: configures it with SOURCE as a part of it; all four programs find their
# targets, but only the pool's is built, since building everything once more would take minutes.
set -euo pipefail
how=$1 forebay=$2
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

case $how in
  package)
    cmake --install "$forebay" --prefix "$work/installed" >/dev/null
    mv "$work/installed" "$work/moved"  # a package works wherever it lies
    arguments=(-DCMAKE_PREFIX_PATH="$work/moved" -DCMAKE_BUILD_TYPE=Release)
    targets=(use_pool use_runtime use_compute use_nn) ;;
  tree)
    arguments=(-DFOREBAY_SOURCE="$forebay" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0
               -DCMAKE_UNITY_BUILD=ON -DFOREBAY_UNITY=ON)
    targets=(use_pool) ;;
esac
cmake -G Ninja -S "$here" -B "$work/build" "${arguments[@]}" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
cmake --build "$work/build" -j 2 --target "${targets[@]}" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
for target in "${targets[@]}"; do "$work/build/$target"; done
if [ "$how" = package ]; then "$work/moved/bin/forebay" --help >/dev/null; fi
