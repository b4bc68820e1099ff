#!/usr/bin/env bash
# run.sh package BUILD | tree SOURCE: builds the consumer against what BUILD installs, or with
# SOURCE as a part of it, and runs its programs.
set -euo pipefail
how=$1 forebay=$2
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

case $how in
  package)
    cmake --install "$forebay" --prefix "$work/installed" >/dev/null
    mv "$work/installed" "$work/moved"  # a package works wherever it lies
    arguments=(-DCMAKE_PREFIX_PATH="$work/moved" -DCMAKE_BUILD_TYPE=Release) ;;
  tree)
    arguments=(-DFOREBAY_SOURCE="$forebay" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0) ;;
esac
cmake -G Ninja -S "$here" -B "$work/build" "${arguments[@]}" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
cmake --build "$work/build" -j 2 >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
programs=0
while IFS= read -r program; do
  "$program"
  programs=$((programs + 1))
done < <(find "$work/build" -name 'use_*' -type f -executable)
[ $programs = 4 ] || { echo "expected 4 programs, found $programs"; exit 1; }
if [ "$how" = package ]; then "$work/moved/bin/forebay" --help >/dev/null; fi
