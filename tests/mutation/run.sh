#!/usr/bin/env bash
# run.sh — how many planted mistakes the tests find: the mutation score. README.md says more.
#
# usage: tests/mutation/run.sh [--check] [--preset NAME] [PATTERN…]
#   --check    only looks whether each row of mutants.tsv fits the tree; builds nothing
#   --preset   builds as this CMake preset does (dev)
#   PATTERN    only mutants whose names it matches, such as 'ledger/*' (all)
set -euo pipefail
export LC_ALL=C  # texts are bytes
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

table=tests/mutation/mutants.tsv
work=$PWD/build/mutation
tree=$work/tree
jobs=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}
seconds_max=120     # for the tests of one mutant: one that hangs is found, too
kib_max=8388608     # and one that eats memory
mutants_min=30

preset=dev
only_check=no
patterns=()
while [ $# -gt 0 ]; do
    case $1 in
        --check) only_check=yes ;;
        --preset) preset=${2:?--preset needs a name}; shift ;;
        -*) printf 'run.sh: no option %s (there are --check and --preset)\n' "$1" >&2; exit 2 ;;
        *) patterns+=("$1") ;;
    esac
    shift
done
build=$tree/build/$preset

# ---- the table ---------------------------------------------------------------------------------

# How often; bash's own patterns take minutes over a tree.
times_in() { grep -o -F -e "$1" "$2" | wc -l; }

# Rows become lines of columns between bytes that no text has: `read` would merge tabs.
rows() { grep -n -v -e '^#' -e '^$' "$table" | tr '\t' '\037'; }
columns="name file text mutant tests links filter survives"

problem_of_row() {
    local times
    if [ -n "$more" ] || [ -z "$survives" ]; then echo "expected 8 columns: $columns"; return; fi
    if [ ! -f "$file" ]; then echo "there is no file $file"; return; fi
    if [ "$links" != - ] && [ ! -f "$tests" ]; then echo "there is no file $tests"; return; fi
    if [ "$text" = "$mutant" ]; then echo "the mutant is the text itself"; return; fi
    times=$(times_in "$text" "$file") || true
    if [ "$times" != 1 ]; then
        echo "the table is stale: its text is $times times in $file, expected once"
    fi
}

check_table() {
    local name file text mutant tests links filter survives more problem bad=0 count=0 names=" "
    while IFS=$'\037' read -r name file text mutant tests links filter survives more; do
        count=$((count + 1))
        problem=$(problem_of_row)
        if [[ $names == *" ${name#*:} "* ]]; then problem="a second row of this name"; fi
        names+="${name#*:} "
        [ -n "$problem" ] || continue
        printf '%s:%s: %s: %s\n' "$table" "${name%%:*}" "${name#*:}" "$problem" >&2
        bad=1
    done < <(rows)
    if [ "$count" -lt "$mutants_min" ]; then
        printf '%s: %d mutants, at least %d are wanted\n' "$table" "$count" "$mutants_min" >&2
        bad=1
    fi
    [ $bad = 0 ] || return 1
    printf '%s: %d mutants, each fits one place of the tree\n' "$table" "$count"
}

is_wanted() {
    local pattern
    [ ${#patterns[@]} -gt 0 ] || return 0
    for pattern in "${patterns[@]}"; do
        # A pattern is one.
        # shellcheck disable=SC2053
        if [[ $1 == $pattern ]]; then return 0; fi
    done
    return 1
}

# ---- a tree of its own -------------------------------------------------------------------------

# A test's source alone becomes a program, so that a mutant costs one file, one library, one link.
program_of() {
    local base
    if [ "$2" = - ]; then echo "$1"; return; fi
    base=${1#tests/}
    base=${base%.cpp}
    echo "mutation_${base//\//_}_with_${2//,/_}"
}

cmake_of_program() {
    local program=$1 tests=$2 links=$3 library
    printf 'add_executable(%s "${PROJECT_SOURCE_DIR}/%s")\n' "$program" "$tests"
    printf 'target_link_libraries(%s PRIVATE ukemi_test_main ukemi_options' "$program"
    for library in ${links//,/ }; do printf ' ukemi::%s' "$library"; done
    printf ')\ntarget_compile_definitions(%s PRIVATE UKEMI_SOURCE_DIR="${PROJECT_SOURCE_DIR}"' \
        "$program"
    printf ' UKEMI_BINARY="$<TARGET_FILE:ukemi>")\n'
    printf 'target_compile_options(%s PRIVATE -O1 -g0)\n' "$program"  # it is built more than run
    # Tests of the program as a user meets it start it.
    if [[ ,$links, == *,cli,* ]]; then printf 'add_dependencies(%s ukemi)\n' "$program"; fi
}

put() {  # FILE CONTENT: only what differs is written, so that only that is built again
    if [ -f "$1" ] && [ "$(<"$1")" = "$2" ]; then return; fi
    mkdir -p "$(dirname "$1")"
    printf '%s\n' "$2" >"$1"
}

# Also takes back whatever a run that was cut short left there.
copy_tree() {
    local path
    mkdir -p "$tree"
    while IFS= read -r -d '' path; do
        if [ ! -f "$path" ] || [ "$path" = tests/CMakeLists.txt ]; then continue; fi
        if cmp -s "$path" "$tree/$path"; then continue; fi
        mkdir -p "$tree/$(dirname "$path")"
        cp "$path" "$tree/$path"
    done < <(git ls-files -co --exclude-standard -z)
}

add_programs() {
    local name file text mutant tests links filter survives program all=" " lists
    lists=$(<tests/CMakeLists.txt)
    while IFS=$'\037' read -r name file text mutant tests links filter survives; do
        program=$(program_of "$tests" "$links")
        if [ "$links" = - ] || [[ $all == *" $program "* ]]; then continue; fi
        all+="$program "
        lists+=$'\n'$(cmake_of_program "$program" "$tests" "$links")
    done < <(rows)
    put "$tree/tests/CMakeLists.txt" "$lists"
}

# LOG TARGET…
build() {
    local log=$1
    shift
    cmake --build "$build" --parallel "$jobs" --target "$@" </dev/null >"$log" 2>&1
}

# LOG PROGRAM FILTER
run_tests() {
    local log=$1 arguments=(-w NoTests)
    if [ "$3" != - ]; then arguments+=("$3"); fi
    # `|| exit`: bash would tell everybody of each test that aborts.
    (ulimit -v $kib_max; timeout "$seconds_max" "$2" "${arguments[@]}" || exit 1) \
        </dev/null >"$log" 2>&1
}

# Found by name: where a target's program lies is its folder's business.
path_of() { find "$build" -type f -name "$1" -perm -u+x | head -n 1; }

# The rows that are wanted, grouped so that what they have in common is near.
selected_rows() {
    local name rest
    rows | sed 's/^[0-9]*://' | sort -t $'\037' -k2,2 -k6,6 -k5,5 -k1,1 |
        while IFS=$'\037' read -r name rest; do
            if is_wanted "$name"; then printf '%s\037%s\n' "$name" "$rest"; fi
        done
}

prepare() {
    local log=$work/log.txt programs tests links filter
    rm -rf "$work/mutants"
    mkdir -p "$work/mutants"
    copy_tree
    add_programs
    # A source an object: a mutant compiles its own file and no other.
    (cd "$tree" && cmake --preset "$preset" -DUKEMI_BENCH=OFF -DUKEMI_CUDA=OFF \
        -DUKEMI_UNITY=OFF) >"$log" 2>&1 || { cat "$log" >&2; return 1; }
    echo "building what the tests need"
    programs=$(while IFS=$'\037' read -r _ _ _ _ tests links _; do
        program_of "$tests" "$links"
    done <<<"$selected" | sort -u)
    # Word splitting is wanted: one target a word.
    # shellcheck disable=SC2086
    build "$log" $programs || { tail -n 40 "$log" >&2; return 1; }
    echo "running them without a mutant"
    while IFS=$'\037' read -r tests links filter; do
        run_tests "$log" "$(path_of "$(program_of "$tests" "$links")")" "$filter" && continue
        printf 'run.sh: without a mutant, %s %s fails:\n' "$tests" "$filter" >&2
        tail -n 40 "$log" >&2
        return 1
    done < <(cut -d $'\037' -f 5,6,7 <<<"$selected" | sort -u)
}

# ---- one mutant --------------------------------------------------------------------------------

# The object that a source becomes; of those that several programs have, the one of this program.
object_of() {
    awk -v source="$tree/$1" -v program="${2:-/}" '
        $1 == "build" && $4 == source && index($2, program) { sub(":$", "", $2); print $2; exit }
    ' "$build/build.ninja"
}

command_for() { ninja -C "$build" -t commands "$1" | tail -n 1; }

# FOLDER FILE TESTS PROGRAM: compiles what the mutant is in, and links it before the library that
# has the whole one. A header's mutant is in the tests themselves, which must have all of it.
build_beside() {
    local folder=$1 file=$2 tests=$3 program=$4 source=$2 object compile link
    if [[ $file == *.hpp ]]; then source=$tests; fi
    object=$(object_of "$source" "$([ "$source" = "$file" ] || echo "$program")")
    compile=$(command_for "$object")
    compile=${compile//"$object"/"$folder/mutant.o"}
    compile=${compile//" -I$tree "/" -I$folder -I$tree "}
    if [ "$source" = "$file" ]; then compile=${compile//"$tree/$file"/"$folder/$file"}; fi
    link=$(command_for "$program")
    link=${link/" -o tests/$program "/" -o $folder/program "}
    if [ "$source" = "$file" ]; then
        # The first definition holds; the library's may come along for what the compiler made
        # another choice about, such as which copies of inline functions to keep.
        link=${link/" -o "/" -Wl,--allow-multiple-definition $folder/mutant.o -o "}
    else
        link=${link/"$object"/"$folder/mutant.o"}
    fi
    (cd "$build" && eval "$compile -O1 -g0" && eval "$link") >"$folder/log.txt" 2>&1
}

# FOLDER FILE PROGRAM: where a program has more to it than its sources, it is built in the tree.
build_in_tree() {
    put "$tree/$2" "$(<"$1/$2")"
    build "$1/log.txt" "$3"
}

say() { printf '%-44s %s\n' "$1" "$2" | tee "$folder/said.txt"; }

try_mutant() {
    local number=$1 name=$2 file=$3 text=$4 mutant=$5 tests=$6 links=$7 filter=$8 survives=$9
    local folder=$work/mutants/$number content program path built=yes
    program=$(program_of "$tests" "$links")
    content=$(<"$file")
    put "$folder/$file" "${content%%"$text"*}$mutant${content#*"$text"}"
    if [ "$links" = - ]; then
        build_in_tree "$folder" "$file" "$program" || built=no
        path=$(path_of "$program")
    else
        build_beside "$folder" "$file" "$tests" "$program" || built=no
        path=$folder/program
    fi
    if [ $built = no ]; then
        say "$name" "DOES NOT COMPILE"
        grep -m 3 'error' "$folder/log.txt" >&2 || true
    elif run_tests "$folder/log.txt" "$path" "$filter"; then
        if [ "$survives" = - ]; then
            say "$name" "SURVIVED $tests $filter"
        else
            say "$name" "survives: $survives"
        fi
    elif [ "$survives" = - ]; then
        say "$name" "killed"
    else
        say "$name" "KILLED, and the table says that it survives: $survives"
    fi
    rm -f "$folder/program" "$folder/mutant.o"
    if [ "$links" = - ]; then put "$tree/$file" "$content"; fi
}

# Those that are built beside the tree disturb nobody: several at a time. The others follow.
try_all() {
    local number=0 in_tree name file text mutant tests links filter survives
    for in_tree in no yes; do
        while IFS=$'\037' read -r name file text mutant tests links filter survives; do
            if [ "$([ "$links" = - ] && echo yes || echo no)" != $in_tree ]; then continue; fi
            number=$((number + 1))
            if [ "$(jobs -r -p | wc -l)" -ge "$([ $in_tree = yes ] && echo 1 || echo "$jobs")" ]; then
                wait -n || true
            fi
            try_mutant $number "$name" "$file" "$text" "$mutant" "$tests" "$links" "$filter" \
                "$survives" </dev/null &
        done <<<"$selected"
        wait
    done
}

# A function, so that bash has read all of this file before it begins.
main() {
    local selected said tried killed known
    check_table
    [ $only_check = no ] || return 0
    selected=$(selected_rows)
    [ -n "$selected" ] || { echo "run.sh: no mutant has such a name" >&2; return 2; }
    prepare
    try_all
    said=$(cat "$work"/mutants/*/said.txt)
    tried=$(wc -l <<<"$selected")
    killed=$(grep -c ' killed$' <<<"$said") || true
    known=$(grep -c ' survives: ' <<<"$said") || true
    printf 'mutation score: %d of %d mutants killed (%d %%), %d known survivors\n' \
        "$killed" "$tried" $((100 * killed / tried)) "$known"
    [ $((killed + known)) = "$tried" ]
}

main
exit
