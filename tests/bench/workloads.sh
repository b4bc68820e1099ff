#!/bin/sh
# workloads.sh BIN OUT [DEVICE]: both workloads as docs/benchmarks quotes them, one JSON file each.
# DEVICE is cuda:0 (default) or host, where everything is smaller.
set -eu
forebay=$1/forebay out=$2 device=${3:-cuda:0}
name=${device%%:*}
run() {
  file=$1
  shift
  echo "forebay bench $* --device $device" >&2
  "$forebay" bench "$@" --device "$device" --json "$out/$file-$name.json" >/dev/null 2>"$out/error.txt" ||
    { tail -3 "$out/error.txt" >&2; exit 1; }
  rm -f "$out/error.txt"
}
if [ "$name" = host ]; then
  run cold-start-128 cold-start
  run reinit-flat reinit --mode flat --iters 300 --inner-steps 10 --networks 1
  run reinit-climb reinit --mode climb --iters 300 --inner-steps 10 --networks 1 --jitter --drop-order random
  exit
fi
for tensors in 128 256 1024; do run cold-start-$tensors cold-start --tensors $tensors --fresh-cache; done
run cold-start-128-40-loops cold-start --tensors 128 --loops 40 --fresh-cache
run cold-start-128-clone cold-start --tensors 128 --fresh-cache --clone
run cold-start-128-through-host cold-start --tensors 128 --fresh-cache --through-host
run reinit-flat reinit --mode flat --iters 300
run reinit-climb reinit --mode climb --iters 300
run reinit-climb-1500 reinit --mode climb --iters 1500 --networks 3 --jitter --drop-order random
run reinit-pairs reinit --iters 200 --pairs 10
