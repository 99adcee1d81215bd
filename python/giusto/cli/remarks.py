"""What a command says beside its work: losses, misses and lost connections, on stderr as they happen."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from giusto.cli.exits import say
from giusto.errors import Closed, TimedOut

if TYPE_CHECKING:
    from giusto.client import Bus

LOOK_SECONDS = 0.1


@contextmanager
def connected(address: str, name: str | None = None) -> Iterator[Bus]:
    """A bus whose events are told while the block runs."""
    from giusto.client import connect

    over = threading.Event()
    with connect(address, name=name) as bus:
        # A thread that only looks: who works in the block restores a lost connection, and this one says so.
        teller = threading.Thread(target=keep_telling, args=(bus, over), daemon=True)
        teller.start()
        try:
            yield bus
        finally:
            over.set()
            teller.join()


def keep_telling(bus: Bus, over: threading.Event) -> None:
    """Tell what happens until it is over, and at last what has happened until then."""
    while not over.wait(LOOK_SECONDS):
        tell(bus)
    tell(bus)


def tell(bus: Bus) -> None:
    """One line for each event so far that a person should know of."""
    from giusto.client import Matchedness

    try:
        while bus.events.available():
            event = bus.events.receive(0)
            if not isinstance(event, Matchedness):
                say(f"giusto: {event}")
    except (Closed, TimedOut):
        return
