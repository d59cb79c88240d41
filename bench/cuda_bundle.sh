#!/bin/sh
# Checks and measures ukemi's CUDA side on a machine that has a GPU driver: kernels, gradients of all
# models, learners on one GPU, and NCCL groups that change. `./dev cuda --bundle` puts it beside the
# programs, the libraries that they need and a slice of data. cuBLAS and NCCL are used where this
# machine has them (a toolkit, or a Python package that brings them); without cuBLAS our own products
# are used, without NCCL its part is left out. It takes less than ten minutes. All output is in out/;
# a short table comes last. Exit 1 if anything did not match, 77 if no GPU answers.
cd "$(dirname "$0")" || exit 1
mkdir -p out

# Where somebody else has put what is too large for a bundle.
brought=
for name in libcublas.so.13 libnccl.so.2; do
    found=$(timeout 30 find /usr /opt /root /home -name "$name" 2>/dev/null | head -n 1)
    if [ -n "$found" ]; then brought=$brought:$(dirname "$found"); fi
done
# cuBLAS brings a second library, which some packages keep beside it and some do not.
found=$(timeout 30 find /usr /opt /root /home -name libcublasLt.so.13 2>/dev/null | head -n 1)
if [ -n "$found" ]; then brought=$brought:$(dirname "$found"); fi

# The programs with the libraries beside them; with the bundled C library too where this machine's
# is too old for them.
start=direct
if ! LD_LIBRARY_PATH=$PWD/lib ./test_cuda --help >/dev/null 2>&1; then start=loader; fi
# run SECONDS PROGRAM ARGUMENTS…
run() {
    seconds=$1
    program=$2
    shift 2
    if [ $start = direct ]; then
        LD_LIBRARY_PATH=$PWD/lib$brought${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} \
            timeout "$seconds" "./$program" "$@"
    else
        timeout "$seconds" ./libc/ld-linux-x86-64.so.2 --library-path \
            "$PWD/libc:$PWD/lib$brought:${LD_LIBRARY_PATH:-}:/usr/lib/x86_64-linux-gnu:/usr/lib64" \
            "./$program" "$@"
    fi
}

status=0
# step NAME SECONDS PROGRAM ARGUMENTS…: its output goes to out/NAME.txt
step() {
    name=$1
    shift
    begun=$(date +%s)
    run "$@" >"out/$name.txt" 2>&1
    code=$?
    case $code in
        0) word=passed ;;
        124) word='out of time'; status=1 ;;
        *) word="FAILED ($code)"; status=1 ;;
    esac
    steps="$steps$(printf '%-28s %-14s %4d s' "$name" "$word" $(($(date +%s) - begun)))
"
}
steps=

if command -v nvidia-smi >/dev/null; then
    nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,temperature.gpu,power.draw \
        --format=csv >out/gpu.csv 2>&1
fi
data=
if [ -f data/images-idx3-ubyte ]; then
    data="--images data/images-idx3-ubyte --labels data/labels-idx1-ubyte"
fi
step tests 100 test_cuda
# Word splitting is wanted. 5,000,003: no multiple of anything, about the size of the L2 cache.
# shellcheck disable=SC2086
step kernels-small 40 bench_cuda --elements 5000003 --repetitions 7 $data
step kernels-large 60 bench_cuda --elements 67108864 --repetitions 15
# shellcheck disable=SC2086
step learners-lenet5 100 bench_learners --model lenet5 --seconds 0.7 --out out/lenet5 $data
# shellcheck disable=SC2086
step learners-resnet20 120 bench_learners --model resnet20 --seconds 0.7 --out out/resnet20 $data
if [ -e bench_nccl_resize ]; then
    # Each rank is a process of its own, which a second loader would not start alike.
    if [ $start = direct ]; then
        step nccl-resize 160 bench_nccl_resize 3
    else
        steps="${steps}nccl-resize                  left out: this machine's C library is too old
"
    fi
fi

for name in tests kernels-small kernels-large learners-lenet5 learners-resnet20 nccl-resize; do
    if [ -f "out/$name.txt" ]; then echo "== $name"; tail -n 60 "out/$name.txt"; fi
done
echo "== in short"
cat version.txt out/gpu.csv 2>/dev/null
echo "brought by this machine: ${brought:-neither cuBLAS nor NCCL}"
printf '%s' "$steps"
tail -n 3 out/tests.txt | grep -E 'passed|failed'
grep -h 'copy:' out/kernels-large.txt
for model in lenet5 resnet20; do
    grep -h -E 'the search took|times the throughput|within 10 %' "out/learners-$model.txt" | sed "s/^/$model: /"
    grep -h -E '^(averaging|S-SGD|one learner)' "out/learners-$model.txt" | sed "s/^/$model: /"
done
[ ! -f out/nccl-resize.txt ] || tail -n +3 out/nccl-resize.txt
if grep -q 'nothing measured' out/kernels-large.txt; then
    echo "NOTHING was checked or measured: no GPU answers"
    exit 77
fi
if [ $status = 0 ]; then
    echo "everything matches"
else
    echo "NOT everything matches or ended in time: see above and out/"
fi
exit $status
