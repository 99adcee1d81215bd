"""What a command says beside its work: losses, misses and lost connections, on stderr as they happen."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from giusto.cli.exits import say

if TYPE_CHECKING:
    from giusto.client import Bus


@contextmanager
def connected(address: str, name: str | None = None) -> Iterator[Bus]:
    """A bus whose events are told while the block runs."""
    from giusto.client import connect

    with connect(address, name=name) as bus:
        # A thread, since the block may be waiting for a connection that is lost: that must be told at once.
        threading.Thread(target=tell, args=(bus.events,), daemon=True).start()
        yield bus


def tell(events: Iterable[object]) -> None:
    """One line for each event that a person should know of; ends with the bus."""
    from giusto.client import Matchedness

    for event in events:
        if not isinstance(event, Matchedness):
            say(f"giusto: {event}")
