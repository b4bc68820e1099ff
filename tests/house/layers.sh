#!/usr/bin/env bash
# layers.sh ROOT: includes point down only (tools -> nn -> compute -> runtime -> pool), and the
# layers that know no GPU include no header of one.
set -euo pipefail
cd "$1"
layers=(pool runtime compute nn tools)
failed=0
complain() { printf '%s\n' "$2" | sed "s|^|$1: |"; failed=1; }

sources=0
for i in "${!layers[@]}"; do
  layer=${layers[i]}
  [ -d "$layer" ] || continue
  sources=$((sources + $(find "$layer" -name '*.[hc]pp' | wc -l)))
  for above in "${layers[@]:i+1}" tests; do
    hits=$(grep -rnE "^[ \t]*#[ \t]*include[ \t]*[\"<](forebay/)?$above/" "$layer" || true)
    [ -z "$hits" ] || complain "$layer may not include $above" "$hits"
  done
done
[ "$sources" -gt 0 ] || complain "$1" "no source files found"

gpu='^[ \t]*#[ \t]*include[ \t]*["<](cuda|cublas|nvrtc|curand|cudnn|nccl|forebay/[a-z]*/cuda|[a-z]*/(cuda|driver)/)'
for place in pool nn compute/host runtime/host pool/include runtime/include compute/include nn/include; do
  [ -d "$place" ] || continue
  hits=$(grep -rnE "$gpu" "$place" || true)
  [ -z "$hits" ] || complain "$place knows no GPU" "$hits"
done
exit $failed
