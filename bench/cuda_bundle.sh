#!/bin/sh
# Checks and measures ukemi's CUDA kernels on a machine that has a GPU driver and nothing else.
# `./dev cuda --bundle` puts it beside the programs, the libraries that they need and a slice of
# data. The table comes last; all output is also in out/. Exit 1 if anything did not match.
cd "$(dirname "$0")" || exit 1
mkdir -p out

# The programs with the libraries beside them; with the bundled C library too where this machine's
# is too old for them.
start=direct
if ! LD_LIBRARY_PATH=$PWD/lib ./test_cuda --list-tests >/dev/null 2>&1; then start=loader; fi
run() {
    program=$1
    shift
    if [ $start = direct ]; then
        LD_LIBRARY_PATH=$PWD/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} "./$program" "$@"
    else
        ./libc/ld-linux-x86-64.so.2 --library-path \
            "$PWD/libc:$PWD/lib:${LD_LIBRARY_PATH:-}:/usr/lib/x86_64-linux-gnu:/usr/lib64" \
            "./$program" "$@"
    fi
}

status=0
if command -v nvidia-smi >/dev/null; then
    nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,temperature.gpu,power.draw \
        --format=csv >out/gpu.csv 2>&1
fi

run test_cuda >out/test.txt 2>&1 || status=1
data=
if [ -f data/images-idx3-ubyte ]; then
    data="--images data/images-idx3-ubyte --labels data/labels-idx1-ubyte"
fi
# Word splitting is wanted. 5,000,003: no multiple of anything, about the size of the L2 cache.
# shellcheck disable=SC2086
run bench_cuda --elements 5000003 --repetitions 7 $data >out/bench-small.txt 2>&1 || status=1
run bench_cuda --elements 67108864 --repetitions 15 >out/bench-large.txt 2>&1 || status=1

cat version.txt
echo "== tests"
tail -n 40 out/test.txt
echo "== 5,000,003 elements, and a gradient of data"
cat out/bench-small.txt
echo "== 67,108,864 elements"
cat out/bench-large.txt
if grep -q 'nothing measured' out/bench-large.txt; then
    echo "NOTHING was checked or measured: no GPU answers"
    exit 77
fi
if [ $status = 0 ]; then
    echo "everything matches"
else
    echo "NOT everything matches: see above and out/"
fi
exit $status
