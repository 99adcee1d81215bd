"""A subscription of the blocking face."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from giusto import _core
from giusto.client import operation
from giusto.client.entity import AnySubscription, Interest

if TYPE_CHECKING:
    from giusto.client.driver import Driver


class Subscription(AnySubscription, _core.BlockingInbox):
    """A pattern that this client is subscribed to; iterating gives its messages."""

    def __new__(cls, bus: Driver, made_from: Interest) -> Self:
        """Make the native part: messages may come as soon as the broker is asked."""
        return _core.BlockingInbox.__new__(cls, bus._native, **made_from.native())

    def __init__(self, bus: Driver, made_from: Interest) -> None:
        self._bus = bus
        self._describe(made_from, bus._native.now)

    def unsubscribe(self) -> None:
        """End the subscription; iterations over it end."""
        self._bus._run(operation.unsubscribe(self._bus._ledger, self))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.unsubscribe()
