"""How a command ends when something goes wrong: one line on stderr, and an exit code for scripts.

The exit codes of all commands:

    0    done, also when the reader of a pipe went away
    1    it failed: no broker, a refusal, a lost connection
    2    it was called wrongly: an unknown option, or a value that cannot be accepted
    130  Ctrl-C
    143  SIGTERM, unless the command is `giusto broker`
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import typer

from giusto.errors import Duplicate, FilterSyntax, GiustoError, InvalidInput, Missing

FAILED = 1
USAGE = 2
INTERRUPTED = 130
# What the client calls an argument is an option here.
OPTIONS = {
    "address": "--address",
    "attributes": "--attribute",
    "bus": "--bus",
    "by": "--by",
    "client": "--name",
    "confidence": "--confidence",
    "delay": "--delay",
    "every": "--every",
    "experiment": "EXPERIMENT",
    "keep": "--keep",
    "master": "--master",
    "max_latency": "--max-latency",
    "name": "--name",
    "out": "--out",
    "parameter": "--param",
    "parameters": "--param",
    "priority": "--priority",
    "publish": "--publish",
    "records": "--records",
    "refresh": "--refresh",
    "seed": "--seed",
    "seeds": "--seeds",
    "size_bytes": "bytes of payload and attributes",
    "timeout": "--timeout",
    "window": "--window",
}

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")


def ending(error: BaseException) -> tuple[int, str] | None:
    """Exit code and line for people; `None` for a bug, which should be seen whole."""
    match error:
        case KeyboardInterrupt():
            return INTERRUPTED, str(error)
        case BrokenPipeError():
            return 0, ""
        case FilterSyntax():
            return USAGE, str(error)
        case Missing():
            return USAGE, f"{OPTIONS.get(error.field, error.field)} is missing: expected {error.expected}"
        case InvalidInput():
            option = OPTIONS.get(error.field, error.field)
            return USAGE, f"{option} = {error.value}: expected {error.expected}"
        case Duplicate(kind="client"):
            return FAILED, f"--name {error.name}: another client has this name"
        case GiustoError():
            return FAILED, str(error)
        case OSError():
            where = "" if error.filename is None else f"{os.fsdecode(error.filename)}: "
            return FAILED, f"{where}{error.strerror or error}"
    return None


def guarded(command: Callable[_Given, _Result]) -> Callable[_Given, _Result]:
    """`command`, with every failure that is not a bug turned into its ending."""

    @functools.wraps(command)
    def run(*args: _Given.args, **options: _Given.kwargs) -> _Result:
        try:
            result = command(*args, **options)
            sys.stdout.flush()
            return result
        except (KeyboardInterrupt, GiustoError, OSError) as error:
            end = ending(error)
            if isinstance(error, BrokenPipeError):
                silence_stdout()
            if end is None:
                raise
            code, line = end
            if line:
                complain(line)
            raise typer.Exit(code) from None

    return run


def complain(line: str) -> None:
    """An error for people, apart from what the command prints."""
    print(f"giusto: {line}", file=sys.stderr)


def say(line: str) -> None:
    """A remark for people, apart from what the command prints."""
    print(line, file=sys.stderr, flush=True)


def silence_stdout() -> None:
    """Let nothing else fail when the interpreter flushes what nobody reads any more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
