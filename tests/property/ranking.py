"""An output policy written in Python: what pays most goes first."""

from __future__ import annotations

from collections.abc import Sequence

from giusto import _core


class Richest:
    """The greatest sum of prices, then the order of arrival."""

    def __init__(self) -> None:
        self.ranks: dict[int, tuple[float, int]] = {}

    def push(self, number: int, message: _core.Outgoing, terms: Sequence[_core.Terms]) -> None:
        self.ranks[number] = (-sum(each.price for each in terms), number)

    def choose(self, now_ns: int) -> int:
        return min(self.ranks, key=self.ranks.__getitem__)

    def remove(self, number: int) -> None:
        del self.ranks[number]
