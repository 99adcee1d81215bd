#!/bin/sh
# Runs every check of the sources, all of them even if one complains; fails if any did.
#
# usage: VENV=… lint.sh
set -u

complaints=0

check() {
    title=$1
    shift
    echo "» $title"
    "$@" || complaints=$((complaints + 1))
}

check "ruff check" "$VENV/bin/python" -m ruff check --quiet .
check "ruff format" "$VENV/bin/python" -m ruff format --check --quiet .
check "mypy --strict" "$VENV/bin/python" -m mypy --no-error-summary
check "stubs against the build" "$VENV/bin/python" -m mypy.stubtest --concise \
    --allowlist tools/stubtest.allow giusto._core
check "rustfmt" cargo fmt --all --check
check "clippy" cargo clippy --quiet --workspace --all-targets -- -D warnings

[ "$complaints" -eq 0 ] && echo "all checks are clean" && exit 0
echo "checks with complaints: $complaints" >&2
exit 1
