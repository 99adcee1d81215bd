#!/bin/sh
# Runs the Rust tests, the Python tests and a little fuzzing, and closes with one line for each; fails if any fails.
#
# usage: VENV=… test.sh
# GIUSTO_SEED fixes what the random tests draw (a new one each time if not given, and printed),
# GIUSTO_CASES multiplies how many cases they draw. Both reach proptest and hypothesis.
set -u

GIUSTO_SEED=${GIUSTO_SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
GIUSTO_CASES=${GIUSTO_CASES:-1}
export GIUSTO_SEED GIUSTO_CASES
export PROPTEST_RNG_SEED="${PROPTEST_RNG_SEED:-$GIUSTO_SEED}"
export PROPTEST_CASES="${PROPTEST_CASES:-$((256 * GIUSTO_CASES))}"

logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

echo "» Rust tests"
{
    cargo test --quiet --workspace --exclude giusto-py
    echo $? >"$logs/rust.status"
} 2>&1 | tee "$logs/rust"
rust=$(cat "$logs/rust.status")

echo "» Python tests"
{
    "$VENV/bin/python" -m pytest -n 2 -m "not long"
    echo $? >"$logs/python.status"
} 2>&1 | tee "$logs/python"
python=$(cat "$logs/python.status")

echo "» fuzzing"
sh tools/fuzz.sh short
fuzzing=$?

echo
awk '/^test result:/ { passed += $4; failed += $6; ignored += $8 }
     END { printf "Rust:   %d passed, %d failed, %d ignored", passed, failed, ignored }' "$logs/rust"
[ "$rust" -eq 0 ] && echo || echo ": FAILED"
printf 'Python: %s\n' "$(tail -n 1 "$logs/python" | tr -d '=')"
grep -h '^NOT TESTED:' "$logs/python"
[ "$fuzzing" -eq 0 ] || echo "Fuzzing: FAILED"
if [ "$rust" -ne 0 ] || [ "$python" -ne 0 ] || [ "$fuzzing" -ne 0 ]; then
    echo "the tests FAILED; the same draws again: make test GIUSTO_SEED=$GIUSTO_SEED GIUSTO_CASES=$GIUSTO_CASES"
    exit 1
fi
