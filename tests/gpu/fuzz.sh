#!/bin/sh
# fuzz.sh BIN [SEED]: 20,000 random programs of up to 200 operations, interpreted, of which 1500 are
# compiled too, against the host's; and 20,000 random expressions of every type against numbers of
# f64. Both at once; the seeds are printed.
set -eu
bin=$1
export FOREBAY_REQUIRE_GPU=1 FOREBAY_FUZZ_SEED="${2:-1}" FOREBAY_FUZZ_PROGRAMS=20000
FOREBAY_FUZZ_KERNELS=1500 "$bin/gpu_tests" 'random programs of up to*' &
programs=$!
FOREBAY_FUZZ_KERNELS=200 "$bin/gpu_tests" 'random expressions on a device*'
wait $programs
echo "fuzz: all right"
