#!/bin/sh
# Makes the virtual environment VENV with PYTHON and installs one extra of pyproject.toml into it.
#
# usage: PYTHON=… VENV=… environment.sh EXTRA
# What was installed is written down inside the environment; while it says the same as
# pyproject.toml there is nothing to do.
set -eu

extra=$1
stamp=$VENV/.giusto-$extra
short='import sys; print("%d.%d" % sys.version_info[:2])'

if [ ! -x "$VENV/bin/python" ]; then
    echo "» making the Python environment $VENV"
    "$PYTHON" -m venv "$VENV"
fi

made_with=$("$VENV/bin/python" -c "$short")
asked=$("$PYTHON" -c "$short")
if [ "$made_with" != "$asked" ]; then
    echo "$VENV holds Python $made_with, but $PYTHON is $asked: remove $VENV, or name another with VENV=" >&2
    exit 1
fi

wanted=$("$VENV/bin/python" tools/requirements.py "$extra")
if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ]; then
    exit 0
fi
echo "» installing Python packages ($extra)"
printf '%s\n' "$wanted" >"$VENV/.giusto-wanted"
"$VENV/bin/python" -m pip install --quiet --requirement "$VENV/.giusto-wanted"
mv "$VENV/.giusto-wanted" "$stamp"
