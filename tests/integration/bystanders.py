"""A well-behaved publisher and subscriber beside whatever a test does to the broker: they lose nothing."""

from __future__ import annotations

import itertools
import threading
from typing import Self

from raw import WATCHDOG_S, RawClient
from watch import eventually

from giusto.protocol import Advertise, Advertised, Subscribe, Subscribed

BATCH = 8
# Between two batches, so that the pair leaves the processor to the test; nothing waits for it.
PACE_S = 0.002


class Bystanders:
    """Publishes numbered messages in batches and receives each batch before the next one.

    Leaving the `with` block raises what went wrong: a message that was lost, doubled or out of order.
    """

    _count = itertools.count()

    def __init__(self, address: str) -> None:
        number = next(self._count)
        topic = f"bystanders/{number}"
        self.batches = 0
        self._failure: BaseException | None = None
        self._stop = threading.Event()
        self._subscriber = RawClient(address, f"bystander-{number}-subscriber")
        self._publisher = RawClient(address, f"bystander-{number}-publisher")
        self._subscriber.ask(Subscribed, Subscribe(id=1, pattern=topic))
        self._flow = self._publisher.ask(Advertised, Advertise(id=1, topic=topic)).flow
        self._thread = threading.Thread(target=self._run, name="bystanders", daemon=True)

    def go_on(self, batches: int = 5) -> None:
        """Wait until so many batches more have passed through the broker: it serves them now."""
        wanted = self.batches + batches
        eventually(lambda: self.batches >= wanted or self._failure is not None, "the bystanders to be served")
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        try:
            while not self._stop.wait(PACE_S):
                self._pass_on()
        except BaseException as error:
            # `go_on` and the end of the block raise it to the test.
            self._failure = error

    def _pass_on(self) -> None:
        sent = [b"%d" % number for number in range(self.batches * BATCH, (self.batches + 1) * BATCH)]
        self._publisher.publish(self._flow, *sent)
        received = [self._subscriber.payload() for _ in sent]
        assert received == sent
        self.batches += 1

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        try:
            if kind is None:
                self.go_on(1)
        finally:
            self._stop.set()
            self._thread.join(WATCHDOG_S)
            self._subscriber.close()
            self._publisher.close()
