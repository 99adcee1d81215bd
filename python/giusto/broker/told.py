"""Which names a client knows already: one bit per number, since clients times topics may be many."""

from __future__ import annotations


class Told:
    """A set of small numbers."""

    __slots__ = ("_bits",)

    def __init__(self) -> None:
        self._bits = bytearray()

    def add(self, number: int) -> bool:
        """Whether the number is new."""
        place, bit = number >> 3, 1 << (number & 7)
        if place >= len(self._bits):
            self._bits.extend(bytes(place + 1 - len(self._bits)))
        if self._bits[place] & bit:
            return False
        self._bits[place] |= bit
        return True

    def discard(self, number: int) -> None:
        place = number >> 3
        if place < len(self._bits):
            self._bits[place] &= ~(1 << (number & 7))
