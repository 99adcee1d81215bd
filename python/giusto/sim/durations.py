"""How the parts of a scenario keep durations: in one spelling, with whole nanoseconds beside it."""

from __future__ import annotations

from typing import overload

from giusto.contract.duration import duration_ns, rate_terms, spell_ns, spell_rate


def spelled(nanoseconds: int) -> str:
    """The text of a duration."""
    return spell_ns(nanoseconds) if nanoseconds else "0s"


def settle(part: object, *names: str, least_ns: int = 0) -> None:
    """Bring the durations of a frozen part into their one spelling, once, while it is made."""
    for name in names:
        value = getattr(part, name)
        if value is not None:
            object.__setattr__(part, name, spelled(duration_ns(value, name, least_ns=least_ns)))


def settle_rate(part: object, name: str) -> None:
    """The same for a rate."""
    object.__setattr__(part, name, spell_rate(*rate_terms(getattr(part, name), name)))


class Nanoseconds:
    """`period_ns` beside `period`."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name.removesuffix("_ns")

    @overload
    def __get__(self, part: None, owner: type) -> Nanoseconds: ...
    @overload
    def __get__(self, part: object, owner: type) -> int: ...
    def __get__(self, part: object | None, owner: type) -> Nanoseconds | int:
        return self if part is None else duration_ns(getattr(part, self._name))


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
        return None if value is None else duration_ns(value)
