#!/usr/bin/env bash
# linkage.sh FOLDER: no program there needs a GPU library to start.
set -euo pipefail
programs=0 failed=0
for file in "$1"/*; do
  needed=$(readelf -d "$file" 2>/dev/null | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p') || continue
  [ -n "$needed" ] || continue
  programs=$((programs + 1))
  gpu=$(grep -E '^lib(cuda|cudart|nvrtc|nvJitLink|cublas|cublasLt|cudnn|nccl)\b' <<<"$needed" || true)
  [ -z "$gpu" ] || { echo "$file needs $gpu"; failed=1; }
done
[ $programs -gt 0 ] || { echo "$1: no programs"; exit 1; }
exit $failed
