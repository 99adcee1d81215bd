#!/bin/sh
# Looks for inputs that break a promise, guided by what they reach: libFuzzer for the Rust targets, and
# fuzz/control.py for the control frames, which Python decodes.
#
# usage: VENV=… fuzz.sh short | long SECONDS | keep
#   short  a fixed number of inputs for each target, at most 8 s each, for `make test`
#   long   each target in turn until SECONDS are over
#   keep   what the long runs found and the corpus does not cover yet goes into the corpus
# FUZZ_TARGETS names the targets, if not all. New inputs are kept in the target folder; what breaks a promise is kept in fuzz/broken.
# Without a C++ compiler libFuzzer cannot be built; the replay of the corpus in the Rust tests remains.
set -eu

RUNS=${FUZZ_RUNS:-200000}
made=${CARGO_TARGET_DIR:-target}/fuzz
targets=${FUZZ_TARGETS:-control frame attributes filter hub session}

# Counters that the compiler puts at every branch, as libFuzzer wants them; they work with a stable compiler.
coverage='-Cpasses=sancov-module
    -Cllvm-args=-sanitizer-coverage-level=4
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters
    -Cllvm-args=-sanitizer-coverage-pc-table
    -Cllvm-args=-sanitizer-coverage-trace-compares'

build() {
    host=$(rustc -vV | sed -n 's/^host: //p')
    # With --target the flags are for our code alone, not for what the build itself runs.
    RUSTFLAGS=$(echo $coverage) cargo build --quiet --profile fuzz --package giusto-fuzz \
        --features libfuzzer --target "$host" --target-dir "$made"
    program=$made/$host/fuzz/giusto-fuzz
}

# fuzz TARGET FOLDER OPTION…: new inputs go to FOLDER; says how many branches were seen at first and in the end.
fuzz() {
    target=$1 found=$2
    shift 2
    mkdir -p "$found" fuzz/broken
    log=$made/$target.log
    [ -f "fuzz/$target.dict" ] && set -- -dict="fuzz/$target.dict" "$@"
    if ! GIUSTO_TARGET=$target "$program" -artifact_prefix="fuzz/broken/$target-" \
        -print_final_stats=1 "$@" "$found" "fuzz/corpus/$target" >"$log" 2>&1; then
        tail -n 40 "$log" >&2
        echo "fuzzing $target found an input that breaks a promise: it is in fuzz/broken" >&2
        exit 1
    fi
    awk -v target="$target" '/ cov: / { last = $0; if (/INITED/) first = $0 }
        function covered(line) { sub(/.* cov: /, "", line); sub(/ .*/, "", line); return line }
        /number_of_executed_units/ { runs = $2 }
        END { printf "  %-12s %9d inputs, branches covered: %d by the corpus, %d in the end\n",
              target, runs, covered(first), covered(last) }' "$log"
}

control() {
    "$VENV/bin/python" fuzz/control.py "$@"
}

if command -v c++ >/dev/null 2>&1; then
    build
else
    echo "  no C++ compiler, so no libFuzzer: its corpus was only replayed (Debian: apt install g++)"
    targets=control
fi

short() {
    if [ "$1" = control ]; then
        control --runs $((RUNS / 50)) --seed "${GIUSTO_SEED:-1}"
    else
        rm -rf "$made/short"
        fuzz "$1" "$made/short" -runs="$RUNS" -max_total_time=8 -max_len=1024 -seed="${GIUSTO_SEED:-1}"
    fi
}

# long TARGET SECONDS
long() {
    if [ "$1" = control ]; then
        control --seconds "$2" --seed "$(date +%s)" --keep "$made/found/control"
    else
        fuzz "$1" "$made/found/$1" -max_total_time="$2" -max_len=4096
    fi
}

keep() {
    mkdir -p "$made/found/$1"
    if [ "$1" = control ]; then
        control --runs 0 --also "$made/found/control" --keep fuzz/corpus/control
    else
        GIUSTO_TARGET=$1 "$program" -set_cover_merge=1 -use_counters=0 \
            "fuzz/corpus/$1" "$made/found/$1" 2>/dev/null
        echo "  $1: $(find "fuzz/corpus/$1" -type f | wc -l) inputs in the corpus"
    fi
}

count=$(echo "$targets" | wc -w)
case $1 in
short) for one in $targets; do short "$one"; done ;;
long) for one in $targets; do long "$one" $(($2 / count + 1)); done ;;
keep) for one in $targets; do keep "$one"; done ;;
*)
    echo "usage: fuzz.sh short | long SECONDS | keep" >&2
    exit 2
    ;;
esac
