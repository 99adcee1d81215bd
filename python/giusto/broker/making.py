"""All of a request or nothing of it: what was done is undone if a later step fails."""

from __future__ import annotations

from collections.abc import Callable

from giusto.broker.mishap import survived
from giusto.broker.registry import Subscription


class Making:
    """What was done so far for a request, the last step first to be undone."""

    def __init__(self) -> None:
        self.subscription: Subscription | None = None
        self._undo: list[Callable[[], object]] = []

    def undo(self, step: Callable[[], object]) -> None:
        """If something fails from now on, this is done about it."""
        self._undo.append(step)

    def take_back(self) -> None:
        """Something failed. A step that cannot be undone keeps none of the others."""
        for step in reversed(self._undo):
            with survived("taking back a step of a request"):
                step()
