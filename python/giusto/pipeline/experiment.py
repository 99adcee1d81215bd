"""What a sweep runs: a function found by its name, called with the parameters of a case, giving numbers.

The name is `module:function`, or a short one of `giusto.pipeline.registry`. By name it reaches every worker,
and whoever goes on with a sweep next week finds the same one. A function may have two attributes:

    check(**case)   raises for a case that cannot be run; asked about every case before Spark starts
    sources()       files that it runs beside those of its package: results of other ones are refused
"""

from __future__ import annotations

import importlib
import inspect
import math
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from giusto.errors import GiustoError, InvalidInput
from giusto.pipeline.cases import NAME, RESERVED, Value
from giusto.pipeline.registry import REGISTERED

Experiment: TypeAlias = Callable[..., Mapping[str, float | None]]
TRACE_LETTERS = 4_000

_Function = TypeVar("_Function", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one run gave: numbers, or why it gave none."""

    seconds: float
    values: dict[str, float | None]
    error: str | None = None
    trace: str | None = None


def full_name(name: str) -> str:
    """`module:function` of an experiment."""
    if ":" not in name and name not in REGISTERED:
        known = ", ".join(sorted(REGISTERED))
        raise InvalidInput("experiment", name, f"module:function, or one of {known}")
    return REGISTERED.get(name, name)


def find(name: str) -> Experiment:
    """The function that `name` stands for."""
    module_name, _, attribute = full_name(name).partition(":")
    try:
        module = importlib.import_module(module_name)
    except Exception as error:  # whatever a module does when it is imported
        raise InvalidInput(
            "experiment", name, f"a module that can be imported: {type(error).__name__}: {error}"
        ) from error
    function = getattr(module, attribute, None)
    if not callable(function):
        raise InvalidInput("experiment", name, f"a function that {module_name} has")
    found: Experiment = function
    return found


def declared(**attributes: Callable[..., Any]) -> Callable[[_Function], _Function]:
    """Gives a function `check`, `sources` or both."""

    def declare(function: _Function) -> _Function:
        vars(function).update(attributes)
        return function

    return declare


def sources(function: Experiment) -> list[Path]:
    """The files that a function says it runs beside its own package."""
    asked = getattr(function, "sources", None)
    return [] if asked is None else list(asked())


def require_parameters(name: str, function: Experiment, parameters: list[str]) -> None:
    """Refuse parameters that the function does not take, and a function that needs more."""
    try:
        signature = inspect.signature(function)
    except ValueError:
        return  # a native function may not tell
    takes = [each for each in signature.parameters.values() if each.kind is not each.POSITIONAL_ONLY]
    if not any(each.kind is each.VAR_KEYWORD for each in takes):
        known = [each.name for each in takes]
        for parameter in parameters:
            if parameter not in known:
                raise InvalidInput("parameter", parameter, f"one that {name} takes: {', '.join(known)}")
    try:
        signature.bind(**dict.fromkeys(parameters))
    except TypeError as error:
        raise InvalidInput("parameters", ", ".join(parameters), f"what {name} needs: {error}") from None


def require_cases(name: str, function: Experiment, cases: Iterable[Mapping[str, Value]]) -> None:
    """Refuse a case that the function's own `check` refuses, if it has one."""
    check = getattr(function, "check", None)
    if check is None:
        return
    for case in cases:
        try:
            check(**case)
        except GiustoError:
            raise
        except Exception as error:  # whatever a check does with values that it did not think of
            given = " ".join(f"{each}={value}" for each, value in case.items())
            raise InvalidInput("parameters", given, f"a case of {name}: {said(error)}") from error


def run(function: Experiment, case: Mapping[str, Value]) -> Outcome:
    """One run. Nothing that the experiment raises gets out, except Ctrl-C: it is the outcome."""
    start = time.perf_counter()
    try:
        values = numbers(function(**case), case)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a panic of native code, and exit(), are no Exceptions
        return Outcome(time.perf_counter() - start, {}, said(error), trace_of(error))
    return Outcome(time.perf_counter() - start, values)


def numbers(result: Any, case: Mapping[str, Value]) -> dict[str, float | None]:
    """The numbers of one run; None stands for a value that this run does not have."""
    if not isinstance(result, Mapping) or not result:
        raise InvalidInput("result", result, "a dict of numbers by name")
    for name in result:
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise InvalidInput("result", name, "a name of letters, digits and _")
        if name in RESERVED or name in case:
            raise InvalidInput("result", name, "another name: this one is a column of the sweep already")
    return {name: number(name, value) for name, value in result.items()}


def number(name: str, value: Any) -> float | None:
    """One number of a result; all are floats, so that they have one type in all runs."""
    if value is None:
        return None
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        found = math.nan
    if isinstance(value, str) or not math.isfinite(found):
        raise InvalidInput(f"result.{name}", value, "a finite number, or None if there is none")
    return found


def said(error: BaseException) -> str:
    """An error in one line."""
    return f"{type(error).__name__}: {error}".replace("\n", " ").rstrip(": ")


def trace_of(error: BaseException) -> str:
    """Where it was raised, the last part if it is long."""
    return "".join(traceback.format_exception(error))[-TRACE_LETTERS:]


def let_import_from(paths: list[str]) -> None:
    """Look for modules where the process that asks does, too."""
    sys.path += [path for path in paths if path not in sys.path]
