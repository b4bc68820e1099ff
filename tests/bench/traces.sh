#!/bin/sh
# traces.sh BIN OUT TRACE…: what the policy files make of traces, twice over on one simulated device,
# as docs/benchmarks quotes it. One JSON file a run, NAME-POLICY-CAPACITY-LAG.json.
set -eu
bin=$1 out=$2
shift 2
configs=$(dirname "$0")/../../configs
runs="default/none default/1.05x default/1.10x default/1.25x default/1.4x default/1.7x
      low-fragmentation/none low-fragmentation/1.02x low-fragmentation/1.05x
      low-fragmentation/1.06x low-fragmentation/1.25x low-fragmentation/1.5x multi-stream/none"
for trace in "$@"; do
  name=$(basename "$trace")
  name=${name%%.*}
  for run in $runs; do
    for lag in 32 1000; do
      policy=${run%/*} capacity=${run#*/}
      set -- --config "$configs/$policy.json" --event-lag $lag --repeat 2 \
        --json "$out/$name-$policy-$capacity-$lag.json"
      [ "$capacity" = none ] || set -- "$@" --capacity "$capacity"
      # One that fails says so in its JSON.
      "$bin/forebay" replay "$trace" "$@" >/dev/null 2>&1 || true
    done
  done
done
