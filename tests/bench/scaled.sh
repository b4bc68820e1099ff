#!/bin/sh
# scaled.sh BIN OUT TRACE…: whether a policy holds for jobs like those of the traces: every block a
# factor as large. One JSON file a run, NAME-FACTOR-POLICY-CAPACITY.json.
set -eu
bin=$1 out=$2
shift 2
configs=$(dirname "$0")/../../configs
runs="default/1.05x default/1.10x default/1.25x low-fragmentation/1.02x low-fragmentation/1.03x
      low-fragmentation/1.04x low-fragmentation/1.05x"
for trace in "$@"; do
  name=$(basename "$trace")
  name=${name%%.*}
  for factor in 0.7 0.83 0.9 1 1.07 1.3 1.7; do
    for run in $runs; do
      policy=${run%/*} capacity=${run#*/}
      # One that fails says so in its JSON.
      "$bin/forebay" replay "$trace" --scale "$factor" --config "$configs/$policy.json" \
        --capacity "$capacity" --json "$out/$name-$factor-$policy-$capacity.json" \
        >/dev/null 2>&1 || true
    done
  done
done
