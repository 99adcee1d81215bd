#!/bin/sh
# Looks for inputs that break a promise, guided by what they reach: libFuzzer for the Rust targets, and
# fuzz/control.py for the control frames, which Python decodes.
#
# usage: VENV=… fuzz.sh short | long SECONDS | keep
#   short  a fixed number of inputs for each target, for `make test`
#   long   each target in turn until SECONDS are over
#   keep   what the long runs found and the corpus does not cover yet goes into the corpus
# New inputs are kept in the target folder; what breaks a promise is kept in fuzz/broken.
# Without a C++ compiler libFuzzer cannot be built; the replay of the corpus in the Rust tests remains.
set -eu

RUNS=${FUZZ_RUNS:-200000}
made=${CARGO_TARGET_DIR:-target}/fuzz
rust_targets="frame attributes filter"

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

# fuzz TARGET OPTION…: says how many branches were seen at first and in the end.
fuzz() {
    target=$1
    shift
    mkdir -p "$made/found/$target" fuzz/broken
    log=$made/$target.log
    [ -f "fuzz/$target.dict" ] && set -- -dict="fuzz/$target.dict" "$@"
    if ! GIUSTO_TARGET=$target "$program" -artifact_prefix="fuzz/broken/$target-" -max_len=4096 \
        -print_final_stats=1 "$@" "$made/found/$target" "fuzz/corpus/$target" >"$log" 2>&1; then
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
    rust_targets=
fi
case $1 in
short)
    control --runs $((RUNS / 10)) --seed "${GIUSTO_SEED:-1}"
    for target in $rust_targets; do fuzz "$target" -runs="$RUNS" -seed="${GIUSTO_SEED:-1}"; done
    ;;
long)
    count=$(echo control "$rust_targets" | wc -w)
    control --seconds $(($2 / count + 1)) --seed "$(date +%s)" --keep "$made/found/control"
    for target in $rust_targets; do fuzz "$target" -max_total_time=$(($2 / count + 1)); done
    ;;
keep)
    control --runs 0 --also "$made/found/control" --keep fuzz/corpus/control
    for target in $rust_targets; do
        GIUSTO_TARGET=$target "$program" -set_cover_merge=1 -use_counters=0 \
            "fuzz/corpus/$target" "$made/found/$target" 2>/dev/null
        echo "  $target: $(find "fuzz/corpus/$target" -type f | wc -l) inputs in the corpus"
    done
    ;;
*)
    echo "usage: fuzz.sh short | long SECONDS | keep" >&2
    exit 2
    ;;
esac
