#!/usr/bin/env bash
# format.sh ROOT CLANG-FORMAT: every source file looks as clang-format 14 leaves it.
set -euo pipefail
cd "$1"
if ! command -v "${2:-clang-format-14}" >/dev/null; then
  echo "SKIPPED: no clang-format-14 here, and other versions format differently"
  exit 0
fi
find pool runtime compute nn tools tests -name '*.[hc]pp' -print0 | xargs -0 "$2" --dry-run -Werror
