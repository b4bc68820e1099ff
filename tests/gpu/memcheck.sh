#!/bin/sh
# memcheck.sh BIN: the tests on a device under compute-sanitizer's memcheck, with each block of the
# pools an allocation of its own; then the planted overrun of one float, which must be found.
set -eu
bin=$1
export FOREBAY_REQUIRE_GPU=1 FOREBAY_TEST_PASSTHROUGH=1 FOREBAY_FUZZ_PROGRAMS=100 FOREBAY_FUZZ_KERNELS=5
# Left out: what provokes errors of the driver on purpose, what starts other programs, what counts
# calls of a pooled device, and what needs gigabytes. Failed calls are for the tests to see.
compute-sanitizer --tool memcheck --report-api-errors no --error-exitcode 9 "$bin/gpu_tests" \
  '~[.planted]' '~device memory is created*' '~the driver keeps*' '~devices left open*' '~a forked child*' '~a device may be opened again' \
  '~a process ends well*' '~a compilation that hangs*' \
  '~kernels are cached*' '~an error of a copy*' '~a capture allocates*' '~cold-start*' '~reinit*' \
  '~the driver'"'"'s memory keeps*' '~a file that is none*' '~on a GPU a guarded*' '~a device and the host*' '~a device that is not there*' '~the warm path*' '~plans are kept*' \
  "~Adam's step is one call*" '~training on a device*' '~2^29*' '~more than 2^31*' '~a result behind*' \
  '~on a GPU an updated graph*' '~on a GPU what is pending*' '~on a GPU graphs in random order*' '~on a GPU a thousand*' '~on a GPU the memory of*' \
  '~on a GPU many long rows*' '~an upload of several rings*' '~uploads beside work*' \
  '~on a GPU 10*' '~on a GPU bytes just below*' '~on a GPU views of four*' '~Adam on a device updates*'
if compute-sanitizer --tool memcheck --report-api-errors no --error-exitcode 9 "$bin/gpu_tests" '[.planted]' \
  >planted.txt 2>&1; then
  echo "the planted overrun was not found" >&2
  exit 1
fi
grep -q 'Invalid __global__ write of size 4 bytes' planted.txt
rm planted.txt
echo "memcheck: clean, and the planted overrun was found"
