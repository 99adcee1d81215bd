"""Which parameters a paper's single run has: those of its signature, with their kinds, choices and defaults.

A paper declares them once, as keyword arguments with a default, of kind int, float, str, bool or Literal,
each `Annotated` with a sentence for people. The command line, sweeps and Python callers all read them here.
Which of the values fit together, and into which limits, the paper's own `check` says.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args, get_origin

from giusto.errors import InvalidInput, Unknown
from giusto.papers.experiment import Code
from giusto.papers.folder import Paper, code_of, sources
from giusto.pipeline.experiment import declared

WORDS = {"true": True, "yes": True, "false": False, "no": False}
# A sweep measures how long each case takes, and keeps it under this name.
TIMED = "seconds"
EXPECTED = {int: "a whole number", float: "a number", bool: "yes or no", str: "a text"}


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a single run."""

    name: str
    kind: type
    default: Any
    about: str
    choices: tuple[str, ...] = ()

    @property
    def option(self) -> str:
        """Its name on the command line."""
        return f"--{self.name.replace('_', '-')}"

    @property
    def expected(self) -> str:
        """What is accepted, for people."""
        return f"one of {', '.join(self.choices)}" if self.choices else EXPECTED[self.kind]

    def read(self, value: object) -> Any:
        """The value itself, or what a text stands for."""
        try:
            read = self._converted(value)
        except (TypeError, ValueError, KeyError, OverflowError):
            raise InvalidInput(self.option, value, self.expected) from None
        if self.choices and read not in self.choices:
            raise InvalidInput(self.option, value, self.expected)
        return read

    def _converted(self, value: object) -> Any:
        if self.kind is bool:
            return WORDS[value.lower()] if isinstance(value, str) else _exactly(bool, value)
        if isinstance(value, bool):
            raise TypeError
        if self.kind is int and isinstance(value, float):
            return _exactly(int, int(value) if value.is_integer() else value)
        return self.kind(value) if self.kind is not str else _exactly(str, value)


def _exactly(kind: type, value: object) -> object:
    if not isinstance(value, kind):
        raise TypeError
    return value


def parameters(run: Callable[..., object] | None) -> list[Parameter]:
    """The parameters of a single run, in the order of its signature; none if there is no single run."""
    if run is None:
        return []
    signature = inspect.signature(run, eval_str=True)
    return [_parameter(each) for each in signature.parameters.values()]


def _parameter(given: inspect.Parameter) -> Parameter:
    kind, about = given.annotation, ""
    if get_origin(kind) is Annotated:
        kind, about = get_args(kind)[:2]
    choices: tuple[str, ...] = ()
    if get_origin(kind) is Literal:
        kind, choices = str, get_args(kind)
    if kind not in EXPECTED or given.default is inspect.Parameter.empty:
        raise InvalidInput(f"once({given.name})", given.annotation, "int, float, str or bool with a default")
    return Parameter(given.name, kind, given.default, about, choices)


def once(paper: Paper | str, /, **given: object) -> dict[str, Any]:
    """One single run of a paper; what is not given has its default."""
    key, code = (paper, code_of(paper)) if isinstance(paper, str) else (paper.key, paper.code)
    values = checked(key, code, given)
    assert code.once is not None  # it has been asked for its parameters
    return code.once(**values)


def checked(key: str, code: Code, given: Mapping[str, object]) -> dict[str, Any]:
    """The values of all parameters of a single run; what cannot be run is refused."""
    if code.once is None:
        raise Unknown("single run of paper", key)
    known = {each.name: each for each in parameters(code.once)}
    for name in given:
        if name not in known:
            raise InvalidInput(name, "unknown", f"one of {', '.join(known)}")
    values = {name: each.default for name, each in known.items()}
    values |= {name: known[name].read(value) for name, value in given.items()}
    if code.check is not None:
        code.check(**values)
    return values


def check_case(*, paper: str, **given: object) -> None:
    """Refuse a case that cannot be run."""
    checked(paper, code_of(paper), given)


@declared(check=check_case, sources=sources)
def case(*, paper: str, **given: object) -> dict[str, float | None]:
    """One case of a sweep, `giusto.papers:case`: the numbers that a single run adds to what was given."""
    found = once(paper, **given)
    return {
        name: value
        for name, value in found.items()
        if name not in given and name != TIMED and (value is None or isinstance(value, int | float))
    }
