#!/bin/sh
# Builds giusto._core into VENV as a release build, unless the one there was built from these sources.
#
# usage: VENV=… extension.sh
# "These sources" is decided by giusto._build, as in the tests: by content, not by time.
set -eu

stamp=$VENV/.giusto-extension
log=$VENV/.giusto-extension.log
fresh='
from pathlib import Path
from giusto import _build
_build.require_fresh(Path.cwd())
_build.require_release()'

if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$(cksum Cargo.lock pyproject.toml)" ] &&
    "$VENV/bin/python" -c "$fresh" >/dev/null 2>&1; then
    exit 0
fi
echo "» building the native core (about a minute the first time)"
rm -f "$stamp"
if ! env -u CONDA_PREFIX VIRTUAL_ENV="$(cd "$VENV" && pwd)" \
    "$VENV/bin/python" -m maturin develop --release >"$log" 2>&1; then
    cat "$log" >&2
    echo "the native core does not build: see above" >&2
    exit 1
fi
cksum Cargo.lock pyproject.toml >"$stamp"
