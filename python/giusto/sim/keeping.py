"""How the parts of a scenario keep what they are given: durations in one spelling, and nanoseconds."""

from __future__ import annotations

from functools import lru_cache
from typing import overload

from giusto.contract.duration import Duration, duration_ns, rate_terms, spell_ns, spell_rate
from giusto.errors import InvalidInput


def spelled(nanoseconds: int) -> str:
    """The text of a duration."""
    return spell_ns(nanoseconds) if nanoseconds else "0s"


def settle(part: object, *names: str, least_ns: int = 0) -> None:
    """Bring the durations of a frozen part into their one spelling, once, while it is made."""
    for name in names:
        value = getattr(part, name)
        if value is not None:
            object.__setattr__(part, name, _settle(value, name, least_ns))


def _settle(value: Duration, name: str, least_ns: int) -> str:
    try:
        return _settled(value, name, least_ns)
    except TypeError:
        # A list, or a tuple of some, cannot be looked up, and is no duration.
        return _settled.__wrapped__(value, name, least_ns)


# A network has many parts and few different durations. A type counts: True equals 1, and is no duration.
@lru_cache(maxsize=10_000, typed=True)
def _settled(value: Duration, name: str, least_ns: int) -> str:
    return spelled(duration_ns(value, name, least_ns=least_ns))


nanoseconds = lru_cache(maxsize=10_000)(duration_ns)
"""Of a duration that is settled."""


def settle_rate(part: object, name: str) -> None:
    """The same for a rate."""
    object.__setattr__(part, name, spell_rate(*rate_terms(getattr(part, name), name)))


def settle_list(part: object, *names: str) -> None:
    """Make tuples of lists that a frozen part was given, so that equal parts are equal."""
    for name in names:
        try:
            object.__setattr__(part, name, tuple(getattr(part, name)))
        except TypeError:
            raise InvalidInput(name, getattr(part, name), "a list") from None


class Nanoseconds:
    """`period_ns` beside `period`."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name.removesuffix("_ns")

    @overload
    def __get__(self, part: None, owner: type) -> Nanoseconds: ...
    @overload
    def __get__(self, part: object, owner: type) -> int: ...
    def __get__(self, part: object | None, owner: type) -> Nanoseconds | int:
        return self if part is None else nanoseconds(getattr(part, self._name))


class OptionalNanoseconds:
    """`deadline_ns` beside a `deadline` that may be None."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name.removesuffix("_ns")

    @overload
    def __get__(self, part: None, owner: type) -> OptionalNanoseconds: ...
    @overload
    def __get__(self, part: object, owner: type) -> int | None: ...
    def __get__(self, part: object | None, owner: type) -> OptionalNanoseconds | int | None:
        if part is None:
            return self
        value = getattr(part, self._name)
        return None if value is None else nanoseconds(value)
