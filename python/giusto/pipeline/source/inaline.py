"""Errors of our own reach whoever uses Spark in a line, without a worker's traceback: they say what to do.

Spark has a variable for that. It is set in a worker that is about to fail with such an error, and that ends
with it: errors that nobody foresaw keep their tracebacks.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeVar

from giusto.errors import GiustoError

HIDE = "SPARK_HIDE_TRACEBACK"
WORKER = "PYTHON_WORKER_FACTORY"
"""How the names of variables begin that a worker of Spark has."""

_Kind = TypeVar("_Kind", bound=type)


def in_a_line(kind: _Kind) -> _Kind:
    """Make it so for all that Spark calls of a class, and for the iterators that this returns."""
    for name, method in list(vars(kind).items()):
        if inspect.isfunction(method) and (name == "__init__" or not name.startswith("_")):
            setattr(kind, name, _telling(method))
    return kind


def _telling(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def told(*arguments: Any, **named: Any) -> Any:
        with untraced():
            found = method(*arguments, **named)
        return _each(found) if isinstance(found, Iterator) else found

    return told


def _each(found: Iterator[Any]) -> Iterator[Any]:
    with untraced():
        yield from found


@contextmanager
def untraced() -> Iterator[None]:
    """Have Spark leave out the traceback of an error of our own, if this is a worker."""
    try:
        yield
    except GiustoError:
        if any(name.startswith(WORKER) for name in os.environ):
            os.environ[HIDE] = "1"
        raise
