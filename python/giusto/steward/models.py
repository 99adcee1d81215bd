"""Hands models that are published on `$giusto/model/…` to the broker, and publishes what it made of them."""

from __future__ import annotations

import logging
import threading

from giusto import _core
from giusto.client import Bus, Publisher, Subscription
from giusto.errors import Closed, GiustoError
from giusto.models import PREFIX, VERDICT, ModelVerdict, decode, encode

_log = logging.getLogger("giusto.steward")


class Models:
    """Whoever listens to models; a duty of the steward."""

    def __init__(self) -> None:
        self.name = "models"
        self.remarks: list[str] = []
        self._thread: threading.Thread | None = None
        self._subscription: Subscription | None = None

    def begin(self, bus: Bus) -> None:
        """Listen from now on."""
        verdicts = bus.advertise(VERDICT)
        self._subscription = bus.subscribe(PREFIX + "+")
        self._thread = threading.Thread(
            target=self._listen, args=(bus, self._subscription, verdicts), name="giusto-models", daemon=True
        )
        self._thread.start()

    def tend(self) -> None:
        """Nothing waits to be done."""

    def end(self) -> None:
        """Hear nothing more."""
        if self._subscription is not None:
            self._subscription.unsubscribe()
        if self._thread is not None:
            self._thread.join()

    def _listen(self, bus: Bus, subscription: Subscription, verdicts: Publisher) -> None:
        try:
            for message in subscription:
                if message.topic != VERDICT:
                    self._hear(bus, message, verdicts)
        except Closed as error:
            _log.debug("models are heard no more: %s", error)

    def _hear(self, bus: Bus, message: _core.Message, verdicts: Publisher) -> None:
        try:
            verdict = bus.learn(decode(message.payload))
        except Closed:
            raise
        except GiustoError as error:
            _log.warning("%s from %s: %s", message.topic, message.source, error)
            kind = message.topic.removeprefix(PREFIX)
            verdict = ModelVerdict(kind=kind, subject=message.source, decision="refused", reason=str(error))
        verdicts.publish(encode(verdict))
