"""Draws that follow from a seed and a name: the same with every Python, on every machine."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TypeVar

_MASK = 2**64 - 1
_Item = TypeVar("_Item")


class Chance:
    """One stream of draws (SplitMix64); streams of different names have nothing to do with each other."""

    def __init__(self, seed: int, *names: str | int) -> None:
        told = "\0".join(str(name) for name in (int(seed), *names))
        self._state = int.from_bytes(hashlib.sha256(told.encode()).digest()[:8], "big")

    def bits(self) -> int:
        """64 of them."""
        self._state = (self._state + 0x9E3779B97F4A7C15) & _MASK
        mixed = self._state
        mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MASK
        return mixed ^ (mixed >> 31)

    def uniform(self, low: float, high: float) -> float:
        """A number from `low` to below `high`."""
        return low + (high - low) * ((self.bits() >> 11) / 2**53)

    def below(self, count: int) -> int:
        """A whole number from 0 to below `count`."""
        return self.bits() * count >> 64

    def choice(self, items: Sequence[_Item]) -> _Item:
        """One of them."""
        return items[self.below(len(items))]

    def sample(self, items: Sequence[_Item], count: int) -> list[_Item]:
        """So many different ones, in the order in which they were given."""
        places = list(range(len(items)))
        for n in range(count):
            other = n + self.below(len(places) - n)
            places[n], places[other] = places[other], places[n]
        return [items[place] for place in sorted(places[:count])]
