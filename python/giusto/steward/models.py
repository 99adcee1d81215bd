"""Hands models that are published on `$giusto/model/…` to the broker, and publishes what it made of them."""

from __future__ import annotations

import logging
import threading

from giusto import _core
from giusto.client import Bus, Publisher, Subscription
from giusto.config import Models as Modes
from giusto.errors import Closed, TimedOut
from giusto.models import PREFIX, VERDICT, ModelVerdict, decode, encode

PAUSE = "50ms"

_log = logging.getLogger("giusto.steward")


class Models:
    """Whoever listens to models; a duty of the steward."""

    def __init__(self, modes: Modes) -> None:
        self.name = "models"
        self.remarks: list[str] = []
        self._modes = modes
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self, bus: Bus) -> None:
        """Listen from now on."""
        verdicts = bus.advertise(VERDICT)
        subscription = bus.subscribe(PREFIX + "+")
        self._thread = threading.Thread(
            target=self._listen, args=(bus, subscription, verdicts), name="giusto-models", daemon=True
        )
        self._thread.start()

    def tend(self) -> None:
        """Nothing waits to be done."""

    def end(self) -> None:
        """Hear nothing more."""
        self._ending.set()
        if self._thread is not None:
            self._thread.join()

    def _listen(self, bus: Bus, subscription: Subscription, verdicts: Publisher) -> None:
        while not self._ending.is_set():
            try:
                message = subscription.receive(PAUSE)
                if message.topic != VERDICT:
                    verdicts.publish(encode(self._hear(bus, message)))
            except TimedOut:
                continue
            except Closed as error:
                # It is being restored.
                _log.debug("no models are heard: %s", error)
                self._ending.wait(0.05)
            except Exception as error:
                _log.error("a model was not taken up: %s", error, exc_info=error)

    def _hear(self, bus: Bus, message: _core.Message) -> ModelVerdict:
        """What the broker makes of a message; one that is no model is refused, whatever is in it."""
        if not self._modes.trusts(message.source):
            return _verdict(message, "kept", f"models of {message.source} do not count, see models.sources")
        try:
            return bus.learn(decode(message.payload))
        except Closed:
            raise
        except Exception as error:
            _log.warning("%s from %s: %s", message.topic, message.source, error)
            return _verdict(message, "refused", str(error))


def _verdict(message: _core.Message, decision: str, reason: str) -> ModelVerdict:
    kind = message.topic.removeprefix(PREFIX)
    return ModelVerdict(kind=kind, subject=message.source, decision=decision, reason=reason)
