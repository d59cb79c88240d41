#!/bin/sh
# Checks and measures ukemi's CUDA side on a machine that has a GPU driver: kernels, gradients of all
# models, learners on one GPU, NCCL groups that change, `ukemi train` with two workers on one GPU and
# with four that a recorded market takes away, `ukemi calibrate` twice, and `ukemi predict` of six
# steps that neither measured. `./dev cuda --bundle` puts it beside the
# programs, the libraries that they need and a slice of data. cuBLAS, NCCL and compute-sanitizer are
# used where this machine has them (a toolkit, or a Python package that brings them): without cuBLAS
# our own products are used, without the others their parts are left out. It takes less than ten
# minutes (UKEMI_BUNDLE_SECONDS): compute-sanitizer comes last and has what the others leave.
# `sh run.sh calibrations` (three a time, and predictions), `sh run.sh resnet20` (on all of
# Fashion-MNIST in data/all, 150 s a way) and `sh run.sh racecheck` are for a machine that is there for
# several such runs. UKEMI_BUNDLE_ONLY="tests live" makes only the steps that it names, as the table names them; with
# UKEMI_BUNDLE_IMAGES, a folder of all Fashion-MNIST's four files (.gz or unpacked), ResNet-20 is trained on them for
# UKEMI_BUNDLE_TRAIN (60) seconds a way. UKEMI_BUNDLE_REPEAT (1) is how often each calibration
# measures everything anew: one takes about 40 s, and three say whether two agree. All output is in out/; a short table comes last, with a
# line for everything that was left out. Exit 1 if anything did not match; else 2 if something ran
# out of time or had none left, or no step was made; else 77 if no GPU answers.
cd "$(dirname "$0")" || exit 1
# What fits into one of several runs of at most ten minutes.
case ${1:-all} in
    all) ;;
    calibrations)
        UKEMI_BUNDLE_ONLY='calibrate calibrate-again predict'
        UKEMI_BUNDLE_REPEAT=${UKEMI_BUNDLE_REPEAT:-3} ;;
    resnet20)
        UKEMI_BUNDLE_ONLY='trained-resnet20'
        UKEMI_BUNDLE_TRAIN=${UKEMI_BUNDLE_TRAIN:-150}
        UKEMI_BUNDLE_IMAGES=${UKEMI_BUNDLE_IMAGES:-data/all} ;;
    racecheck) UKEMI_BUNDLE_ONLY='racecheck racecheck-models racecheck-gradients' ;;
    *)
        echo "run.sh takes calibrations, resnet20, racecheck or all, not '$1'"
        exit 2 ;;
esac
# All steps, in the order in which their output is shown.
steps='tests kernels-small kernels-large learners-lenet5 learners-resnet20 nccl-resize live train-cpu
    train-cuda profile calibrate calibrate-again predict train-taken replay-log accuracy-resnet20
    trained-resnet20 memcheck racecheck initcheck synccheck memcheck-models racecheck-models
    racecheck-gradients'
for name in ${UKEMI_BUNDLE_ONLY:-}; do
    # Word splitting is wanted: one space between two names.
    # shellcheck disable=SC2086,SC2116
    case " $(echo $steps) " in
        *" $name "*) ;;
        *)
            # shellcheck disable=SC2086,SC2116
            echo "UKEMI_BUNDLE_ONLY: there is no step '$name'; there are $(echo $steps)"
            exit 2 ;;
    esac
done
rm -rf out
mkdir out

begun_all=$(date +%s)
seconds_all=${UKEMI_BUNDLE_SECONDS:-570}

# Where somebody else has put what is too large for a bundle; cuBLAS brings a second library, which
# some packages keep beside it and some do not.
search=${UKEMI_BUNDLE_SEARCH:-/usr /opt /root /home}
# Word splitting is wanted.
# shellcheck disable=SC2086
there=$(timeout -k 5 20 find $search \( -name libcublas.so.13 -o -name libcublasLt.so.13 \
    -o -name libnccl.so.2 -o -name compute-sanitizer -type f \) 2>/dev/null)
first() { printf '%s\n' "$there" | grep "/$1\$" | head -n 1; }
brought=
for name in libcublas.so.13 libnccl.so.2 libcublasLt.so.13; do
    found=$(first "$name")
    if [ -z "$found" ]; then continue; fi
    folder=$(dirname "$found")
    case "$brought:" in
        *":$folder:"*) ;;
        *) brought=$brought:$folder ;;
    esac
done
sanitizer=$(first compute-sanitizer)
under=

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
        # Word splitting is wanted: `under` is a program with its options, or nothing.
        # shellcheck disable=SC2086
        LD_LIBRARY_PATH=$PWD/lib$brought${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} \
            timeout -k 5 "$seconds" $under "./$program" "$@"
    else
        timeout -k 5 "$seconds" ./libc/ld-linux-x86-64.so.2 --library-path \
            "$PWD/libc:$PWD/lib$brought:${LD_LIBRARY_PATH:-}:/usr/lib/x86_64-linux-gnu:/usr/lib64" \
            "./$program" "$@"
    fi
}

failed=
unfinished=
table=
# note NAME WORD SECONDS: a line of the table
note() {
    table="$table$(printf '%-24s %-52s %5s' "$1" "$2" "$3")
"
}
# asked NAME…: whether one of these steps is to be made
asked() {
    [ -n "${UKEMI_BUNDLE_ONLY:-}" ] || return 0
    for one in "$@"; do
        case " $UKEMI_BUNDLE_ONLY " in *" $one "*) return 0 ;; esac
    done
    return 1
}
# leave_out LABEL WORD NAME…: a line of the table if one of these steps was asked for
leave_out() {
    label=$1
    why=$2
    shift 2
    if asked "$@"; then note "$label" "$why" ''; fi
}
ran=0    # steps that have been made
least=5  # seconds below which a step is not begun
# step NAME SECONDS PROGRAM ARGUMENTS…: its output goes to out/NAME.txt; `outcome` says how it went
step() {
    outcome=no_time
    name=$1
    limit=$2
    shift 2
    begun=$(date +%s)
    left=$((begun_all + seconds_all - begun))
    [ "$limit" -le "$left" ] || limit=$left
    if ! asked "$name"; then
        outcome=not_asked
        return
    fi
    if [ "$limit" -lt "$least" ]; then
        note "$name" 'left out: no time left'
        unfinished=yes
        return
    fi
    if [ -n "$no_gpu" ] && [ "$name" != tests ]; then
        note "$name" 'skipped: no GPU answers'
        outcome=no_gpu
        return
    fi
    run "$limit" "$@" >"out/$name.txt" 2>&1
    code=$?
    ran=$((ran + 1))
    case $code in
        0) word=passed; outcome=passed ;;
        124 | 137) word='out of time'; unfinished=yes ;;
        77)  # the program's own word: it found nothing to work with
            note "$name" "left out: $(head -n 1 "out/$name.txt" | cut -c 1-42)" ''
            ran=$((ran - 1))
            outcome=left_out
            return ;;
        *) word="FAILED ($code)"; failed=yes; outcome=failed ;;
    esac
    if [ -n "$no_gpu" ] && [ $code = 0 ]; then word='passed, those that need a GPU skipped'; fi
    note "$name" "$word" "$(($(date +%s) - begun)) s"
}
# sanitized NAME SECONDS TOOL PROGRAM ARGUMENTS…: the same under compute-sanitizer
sanitized() {
    name=$1
    if [ -n "$no_gpu" ]; then
        leave_out "$name" 'skipped: no GPU answers' "$name"
    elif [ -z "$sanitizer" ]; then
        leave_out "$name" 'left out: this machine has no compute-sanitizer' "$name"
    elif [ $start = loader ]; then
        leave_out "$name" "left out: this machine's C library is too old" "$name"
    else
        limit=$2
        tool=$3
        shift 3
        under="$sanitizer --tool $tool --error-exitcode 9"
        before=$failed
        step "$name" "$limit" "$@"
        under=
        # Some virtual machines let no tool look into the GPU: nothing is known then.
        if grep -q -i 'device not supported' "out/$name.txt" 2>/dev/null; then
            table=$(printf '%s' "$table" | sed '$d')"
"
            note "$name" 'left out: compute-sanitizer is refused here'
            failed=$before
            ran=$((ran - 1))
        fi
    fi
}

# Asked first, so that a machine without a GPU says so at once.
no_gpu=$(run 30 bench_cuda --elements 4 --repetitions 1 2>&1 |
    sed -n 's/^no GPU answers (\(.*\)): nothing measured.*/\1/p')
if [ -n "$no_gpu" ]; then echo "no GPU answers here: $no_gpu"; fi
if command -v nvidia-smi >/dev/null; then
    timeout -k 5 10 nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,temperature.gpu,power.draw \
        --format=csv >out/gpu.csv 2>&1
fi
# What the numbers are of. The device's own name comes with the kernels' measurement, which every
# driver allows.
device=$(sed -n '2s/,.*//p' out/gpu.csv 2>/dev/null | tr -cs 'A-Za-z0-9\n' '-' | sed 's/-*$//')
[ -n "$device" ] || device=$([ -n "$no_gpu" ] && echo no-gpu || echo unnamed-gpu)
kept=$(date -u +%Y-%m-%d-%H%M)-$device
{
    echo "date: $(date -u '+%Y-%m-%d %H:%M:%S') UTC"
    echo "device: $device${no_gpu:+ ($no_gpu)}"
    echo "driver: $(cat /sys/module/nvidia/version 2>/dev/null || echo unknown)"
    cat out/gpu.csv 2>/dev/null
    echo "program: $(cat version.txt 2>/dev/null), started $start"
    echo "libraries: ${brought:-neither cuBLAS nor NCCL}"
    for library in $(printf '%s' "$brought" | tr ':' ' '); do
        for file in "$library"/libcublas.so.13* "$library"/libnccl.so.2*; do
            [ ! -e "$file" ] || echo "    $(readlink -f "$file")"
        done
    done
    echo "compute-sanitizer: ${sanitizer:-none}"
    echo "kernel: $(uname -srm), $(nproc) cores"
} >out/about.txt
data=
if [ -f data/images-idx3-ubyte ]; then
    data="--images data/images-idx3-ubyte --labels data/labels-idx1-ubyte"
fi
step tests 90 test_cuda
# Word splitting is wanted. 5,000,003: no multiple of anything, about the size of the L2 cache.
# shellcheck disable=SC2086
step kernels-small 30 bench_cuda --elements 5000003 --repetitions 7 $data
step kernels-large 90 bench_cuda --elements 67108864 --repetitions 15
# shellcheck disable=SC2086
step learners-lenet5 60 bench_learners --model lenet5 --seconds 0.7 --learners 12 \
    --out out/lenet5 $data
# shellcheck disable=SC2086
step learners-resnet20 60 bench_learners --model resnet20 --seconds 0.7 --learners 12 \
    --out out/resnet20 --parts sweep,predictions $data
if [ ! -e bench_nccl_resize ]; then
    leave_out nccl-resize "left out: built without NCCL" nccl-resize
elif [ $start = direct ]; then
    step nccl-resize 70 bench_nccl_resize 3
else  # each rank is a process of its own, which a second loader would not start alike
    leave_out nccl-resize "left out: this machine's C library is too old" nccl-resize
fi
# Groups of worker processes on one GPU, over Gloo: they grow, shrink, lose members, resume.
if [ ! -e test_live_cuda ]; then
    leave_out live "left out: not in this bundle" live
elif [ $start = direct ]; then
    export UKEMI_LIVE_WORKER="$PWD/live_worker_cuda"
    step live 60 test_live_cuda \
        'crew: learners*,crew: a worker killed*,crew: a checkpoint of*,crew: an interrupted*'
else
    leave_out live "left out: this machine's C library is too old" live
fi
# losses_alike: the last losses of both runs, within 1 %
losses_alike() {
    on_cpu=$(sed -n 's/.*last loss: \([0-9.]*\).*/\1/p' out/train-cpu.txt)
    on_cuda=$(sed -n 's/.*last loss: \([0-9.]*\).*/\1/p' out/train-cuda.txt)
    awk -v a="$on_cpu" -v b="$on_cuda" 'BEGIN {
        if (a == "" || b == "") { print "FAILED: a run left no loss"; exit 1 }
        off = (b - a) / a
        if (off < 0) off = -off
        printf "%s: loss %s on cpu, %s on cuda\n", off <= 0.01 ? "matches" : "FAILED", a, b
        exit off > 0.01
    }'
}
if [ $start = direct ]; then
    export CUDA_VISIBLE_DEVICES="${CUDA_VISIBLE_DEVICES:-0}"
    # Two workers, both on one GPU, from the first step on: then all steps have the same samples.
    trained=passed  # both; else how the first that did not pass went
    for backend in cpu cuda; do
        step "train-$backend" 25 ukemi train two_worlds.json --workers 2 \
            --backend "$backend" --set /job/samples=102400 \
            --set /cluster/count_min=2 --policies spot_only --out "out/train-$backend"
        [ $trained != passed ] || trained=$outcome
    done
    case $trained in
        passed)
            alike=$(losses_alike) || failed=yes
            note train-losses "$alike" '' ;;
        no_time) note train-losses 'skipped (no time)' '' ;;
        failed) note train-losses 'skipped (a run failed)' '' ;;
    esac
    # The GPU's copies, codecs and monitors, and a step's and a resize's parts: a profile for scenarios.
    step profile 75 ukemi calibrate two_worlds.json --workers 2 --backend cuda --only-plan \
        --repeat 1 --stretches 3 --steps 30 --out out/profile.json
    # Steps of LeNet-5 on images, twice, then some that neither has measured, and a group from which
    # a recorded market takes workers: 11,400 s of it in 19.
    if [ -n "$data" ]; then
        set -- two_worlds.json --backend cuda --set '/training/model={"kind": "lenet5"}' \
            --set '/training/data={"kind": "idx", "images": "data/images-idx3-ubyte", "labels": "data/labels-idx1-ubyte"}' \
            --set /training/learning_rate=0.002
        repeat=${UKEMI_BUNDLE_REPEAT:-1}
        calibrate_s=$((30 + 60 * repeat))
        least=$((20 + 45 * repeat))  # a calibration that does not end leaves nothing
        step calibrate $calibrate_s ukemi calibrate "$@" --workers 2 --no-machine \
            --repeat "$repeat" --stretches 3 --steps 25 --out out/box.json
        if [ -e out/box.json ]; then
            step calibrate-again $calibrate_s ukemi calibrate "$@" --workers 2 --no-machine \
                --repeat "$repeat" --stretches 3 --steps 25 --out out/again.json \
                --compare out/box.json
            least=5
            step predict 120 ukemi predict "$@" --workers 2 --costs out/box.json --out out/predict \
                --most 6 --repeat 3 --seconds 1
        else
            leave_out 'calibrate-again, predict' 'skipped: no calibration' calibrate-again predict
        fi
        least=5
        step train-taken 60 ukemi train "$@" --workers 4 --set /cluster/count_max=4 \
            --set /job/samples=2000000 --set /market/after_last_row=repeat \
            --revocations market.csv --time-scale 600 --out out/train-taken
        if [ $outcome = passed ]; then
            step replay-log 20 ukemi replay-log out/train-taken/runs/*/decisions.jsonl
        else  # its log may end in the middle of a line
            leave_out replay-log 'skipped: train-taken has not passed' replay-log
        fi
    else
        leave_out 'calibrate, train-taken' 'left out: this bundle has no images' \
            calibrate calibrate-again predict train-taken replay-log
    fi
else  # workers are started as the program itself, which here is the loader
    leave_out 'train, calibrate' "left out: this machine's C library is too old" train-cpu train-cuda \
        profile calibrate calibrate-again predict train-taken replay-log
fi
# The CPU tests what the GPU has learned: apart, so that it costs no other measurement.
# shellcheck disable=SC2086
step accuracy-resnet20 60 bench_learners --model resnet20 --out out/resnet20 --parts accuracy $data
images=${UKEMI_BUNDLE_IMAGES:-}
case " ${UKEMI_BUNDLE_ONLY:-} " in
    *" trained-resnet20 "*) [ -n "$images" ] || [ ! -d data/all ] || images=data/all ;;
esac
if [ -n "$images" ]; then
    train_s=${UKEMI_BUNDLE_TRAIN:-60}
    packed=  # as Fashion-MNIST is published, or not
    [ -e "$images/train-images-idx3-ubyte" ] || packed=.gz
    step trained-resnet20 $((train_s * 3 + 60)) bench_learners --model resnet20 \
        --out out/resnet20 --parts trained --train-seconds "$train_s" \
        --images "$images/train-images-idx3-ubyte$packed" \
        --labels "$images/train-labels-idx1-ubyte$packed" \
        --test-images "$images/t10k-images-idx3-ubyte$packed" \
        --test-labels "$images/t10k-labels-idx1-ubyte$packed"
else
    leave_out trained-resnet20 'left out: UKEMI_BUNDLE_IMAGES names no folder' trained-resnet20
fi
# Every kernel once, at a size that is no multiple of anything; then the gradients of all models.
sanitized memcheck 60 memcheck bench_cuda --elements 100003 --repetitions 1
sanitized racecheck 60 racecheck bench_cuda --elements 100003 --repetitions 1
sanitized initcheck 60 initcheck bench_cuda --elements 100003 --repetitions 1
sanitized synccheck 60 synccheck bench_cuda --elements 100003 --repetitions 1
sanitized memcheck-models 60 memcheck test_cuda 'device*'
sanitized racecheck-models 270 racecheck test_cuda 'device network: replicas*'
sanitized racecheck-gradients 270 racecheck test_cuda 'device network: gradients*'

for name in $steps; do
    if [ -f "out/$name.txt" ]; then echo "== $name"; tail -n 60 "out/$name.txt"; fi
done
echo "== in short"
cat out/about.txt
printf '%s' "$table" | tee out/table.txt
# Without checkpoints and the like: what people read, and what programs do.
tar -czf "$kept.tar.gz" --transform "s,^out,$kept," out/*.txt out/*.csv out/*.json out/*/*.csv \
    out/*/*.json 2>/dev/null
[ ! -s "$kept.tar.gz" ] || echo "raw output: $kept.tar.gz, for bench/results/"
tail -n 3 out/tests.txt 2>/dev/null | grep -E 'passed|failed'
if [ -n "$no_gpu" ]; then
    echo "NOTHING was checked or measured on a GPU: none answers ($no_gpu)"
    if [ -n "$failed" ]; then exit 1; fi
    if [ -n "$unfinished" ]; then exit 2; fi
    exit 77
fi
grep -h 'ERROR SUMMARY\|RACECHECK SUMMARY' out/*check*.txt 2>/dev/null
grep -h -E 'copy:|monitor:' out/kernels-large.txt 2>/dev/null
for model in lenet5 resnet20; do
    grep -h -E 'the search took|times the throughput|within 10 %' "out/learners-$model.txt" 2>/dev/null | sed "s/^/$model: /"
    cat "out/learners-$model.txt" "out/accuracy-$model.txt" 2>/dev/null |
        grep -E '^(averaging|S-SGD|one learner)' | sed "s/^/$model: /"
done
[ ! -f out/nccl-resize.txt ] || tail -n +3 out/nccl-resize.txt
tail -n 4 out/predict.txt out/calibrate-again.txt out/trained-resnet20.txt 2>/dev/null
if [ -n "$failed" ]; then
    echo "NOT everything matches: see above and out/"
    exit 1
elif [ $ran = 0 ]; then
    echo "NOTHING was checked or measured: no step was made"
    exit 2
elif [ -n "$unfinished" ]; then
    echo "what ended in time matches; NOT everything did: see above and out/"
    exit 2
fi
echo "everything matches"
