#!/usr/bin/env bash
# file_length.sh ROOT: no source file has more than 600 lines.
set -euo pipefail
cd "$1"
long=$(find cmake pool runtime compute nn tools tests -type f \
  \( -name '*.[hc]pp' -o -name '*.inl' -o -name '*.cu*' -o -name '*.cmake' -o -name '*.sh' \) -print0 |
  xargs -0 wc -l | awk '$2 != "total" && $1 > 600')
[ -z "$long" ] || { printf 'more than 600 lines:\n%s\n' "$long"; exit 1; }
