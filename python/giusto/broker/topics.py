"""When a topic comes into being, and when it is forgotten."""

from __future__ import annotations

from giusto.broker.plane import Plane
from giusto.broker.registry import Registry, Topic
from giusto.config import BrokerConfig
from giusto.config.broker import share_of
from giusto.errors import InvalidInput

# Beyond so many topics without publishers they are forgotten at once.
VACANT_MAX = 10_000


class Topics:
    """Topics by use: declared with the first publisher, forgotten some time after the last."""

    def __init__(self, plane: Plane, registry: Registry, config: BrokerConfig) -> None:
        self._plane = plane
        self._registry = registry
        self._config = config
        self._vacant_before: set[str] = set()
        for name in config.named_topics:
            self.declare(name, kept=True)

    def declare(self, name: str, *, kept: bool = False) -> Topic:
        """A new topic, with the share that the configuration gives it."""
        share = self._config.share(name)
        if len(self._registry.vacant) > VACANT_MAX:
            self._forget(next(iter(self._registry.vacant.values())))
        number = self._plane.declare(name, share_of(share))
        return self._registry.add_topic(number, name, share, kept=kept)

    def forget_vacant(self) -> None:
        """Forget the topics that have been vacant since the last call."""
        for topic in list(self._registry.vacant.values()):
            if topic.name in self._vacant_before:
                self._forget(topic)
        self._vacant_before = set(self._registry.vacant)

    def _forget(self, topic: Topic) -> None:
        try:
            self._plane.forget(topic.number)
        except InvalidInput:
            # Messages of flows that ended still wait: it is the others' turn first.
            self._registry.vacant[topic.name] = self._registry.vacant.pop(topic.name)
            return
        self._registry.remove_topic(topic)
