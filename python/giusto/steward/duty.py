"""What a steward can be told to do besides its own duties."""

from __future__ import annotations

from typing import Protocol

from giusto.client import Bus


class Duty(Protocol):
    """Something that the steward does at a broker, on a connection of its own."""

    @property
    def name(self) -> str:
        """A word for the name of its connection."""
        ...

    def begin(self, bus: Bus) -> None:
        """Start; `bus` is connected, and closed after `end`."""
        ...

    def tend(self) -> None:
        """Called every second or so, from another thread."""
        ...

    def end(self) -> None:
        """Stop, with everything in order."""
        ...

    @property
    def remarks(self) -> list[str]:
        """What whoever started the broker should know."""
        ...
