"""A publisher of the blocking face."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from giusto import _core
from giusto.client import operation
from giusto.client.entity import Announcement, AnyPublisher

if TYPE_CHECKING:
    from giusto.client.driver import Driver


class Publisher(AnyPublisher, _core.BlockingPublisher):
    """A topic that this client publishes on."""

    def __new__(cls, bus: Driver, made_from: Announcement) -> Self:
        """Make the native part."""
        return _core.BlockingPublisher.__new__(cls, bus._native, **made_from.native())

    def __init__(self, bus: Driver, made_from: Announcement) -> None:
        self._bus = bus
        self._describe(made_from)

    def unadvertise(self) -> None:
        """Stop publishing on the topic."""
        self._bus._run(operation.unadvertise(self._bus._ledger, self))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.unadvertise()
