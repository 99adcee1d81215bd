#!/bin/sh
# Says in plain words what this machine lacks, all of it at once; exit status 1 if anything.
#
# usage: prerequisites.sh build|lint
# Uses nothing but the shell itself, so that it works where everything else is missing.

PYTHON=${PYTHON:-python3}
OLDEST_PYTHON=3.11
root=${0%/*}/..
problems=0

missing() {
    problems=$((problems + 1))
    printf 'missing: %s\n         %s\n' "$1" "$2" >&2
}

present() {
    command -v "$1" >/dev/null 2>&1
}

# at_least HAVE WANT: compares major.minor
at_least() {
    have_rest=${1#*.}
    want_rest=${2#*.}
    [ "${1%%.*}" -gt "${2%%.*}" ] && return 0
    [ "${1%%.*}" -eq "${2%%.*}" ] && [ "${have_rest%%.*}" -ge "${want_rest%%.*}" ]
}

# The oldest Rust that the workspace accepts: rust-version in Cargo.toml.
oldest_rust() {
    while read -r key _ value; do
        if [ "$key" = rust-version ]; then
            value=${value#\"}
            printf '%s' "${value%\"}"
            return
        fi
    done <"$root/Cargo.toml"
}

check_python() {
    if ! present "$PYTHON"; then
        missing "$PYTHON" "install Python $OLDEST_PYTHON or newer (Debian: apt install python3 python3-venv), or name one: make PYTHON=/path/of/python3"
        return
    fi
    version=$("$PYTHON" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)
    if [ -z "$version" ] || ! at_least "$version" "$OLDEST_PYTHON"; then
        missing "Python $OLDEST_PYTHON or newer" "$PYTHON is ${version:-unable to run}; name a newer one: make PYTHON=/path/of/python3"
        return
    fi
    "$PYTHON" -c 'import venv, ensurepip' 2>/dev/null ||
        missing "the venv module of $PYTHON" "Debian: apt install python3-venv"
}

check_rust() {
    wanted=$(oldest_rust)
    if ! present cargo; then
        missing cargo "install Rust $wanted or newer (https://rustup.rs, or Debian 13: apt install cargo)"
        return
    fi
    version=$(cargo --version 2>/dev/null)
    version=${version#cargo }
    version=${version%% *}
    if [ -z "$version" ] || ! at_least "$version" "$wanted"; then
        missing "Rust $wanted or newer" "cargo is ${version:-unable to run}; update it (rustup update, or https://rustup.rs)"
    fi
}

check_linker() {
    present cc || missing "cc, the linker that Rust calls" "Debian: apt install build-essential"
}

check_rust_tools() {
    cargo fmt --version >/dev/null 2>&1 ||
        missing "cargo fmt" "rustup component add rustfmt (Debian: apt install rustfmt)"
    cargo clippy --version >/dev/null 2>&1 ||
        missing "cargo clippy" "rustup component add clippy (Debian: apt install rust-clippy)"
}

case $1 in
build)
    check_python
    check_rust
    check_linker
    ;;
lint) check_rust_tools ;;
*)
    echo "usage: prerequisites.sh build|lint" >&2
    exit 2
    ;;
esac

[ "$problems" -eq 0 ] && exit 0
printf '%s\n' "giusto cannot be built here yet: install what is named above and run the command again" >&2
exit 1
