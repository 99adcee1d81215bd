"""What a policy written in Python is asked, where the name of one of the core's would do.

A part of a scenario takes a class or function that makes such an object; each link or processor gets one.
It is called for every message, some hundred times slower than the core. An error stops the run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, Protocol, TypeAlias

from giusto import _core


class OutputPolicy(Protocol):
    """Chooses which message a link sends next; the queue, its limit and the expiry are not its business."""

    def push(self, number: int, message: _core.Outgoing, terms: Sequence[_core.Terms]) -> None:
        """A message waits; `terms` are of its subscriptions behind the link, none if none asks anything."""

    def choose(self, now_ns: int) -> int:
        """The number of the message to send; asked only if one waits."""
        ...

    def remove(self, number: int) -> None:
        """It was sent, has expired or was dropped."""


class InputPolicy(Protocol):
    """Chooses which lane of a processor gets the next quantum."""

    @property
    def lanes(self) -> Literal["flow", "topic"]:
        """A queue for each client and topic, or one for each topic."""
        ...

    def allot(self, topic: int, share: _core.Share) -> None:
        """Before the run: what a topic is allotted. Topics are numbered in the order of the scenario."""

    def join(self, topic: int, flow: int) -> None:
        """Before the run: a client may publish on the topic."""

    def arrived(self, lane: int, topic: int, oldest_ns: int) -> None:
        """The lane was empty and has a message."""

    def choose(self, now_ns: int) -> int:
        """The lane that gets the next quantum; asked only if one has messages."""
        ...

    def served(self, lane: int, oldest_ns: int | None) -> None:
        """It has had the quantum; `oldest_ns` is None if it is empty now."""


Output: TypeAlias = str | Callable[[], OutputPolicy]
Input: TypeAlias = str | Callable[[], InputPolicy]
