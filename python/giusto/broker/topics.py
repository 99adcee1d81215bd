"""When a topic comes into being, and when it is forgotten."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice

from giusto.broker.plane import Plane
from giusto.broker.registry import Registry, Topic
from giusto.config import BrokerConfig
from giusto.config.broker import share_of
from giusto.protocol import ShareTerms

# Beyond so many topics without publishers they are forgotten at once.
VACANT_MAX = 10_000
# So many are forgotten with one call: a call waits for the data thread, which serves nothing meanwhile.
AT_ONCE = 64


class Topics:
    """Topics by use: declared with the first publisher, forgotten some time after the last."""

    def __init__(self, plane: Plane, registry: Registry, config: BrokerConfig) -> None:
        self._plane = plane
        self._registry = registry
        self._config = config
        self._due: list[Topic] = []
        self.is_promised: Callable[[str], bool] = lambda name: False
        """Whether something is promised on a topic: then it is not forgotten."""
        for name in config.named_topics:
            self.declare(name, kept=True)

    def declare(self, name: str, share: ShareTerms | None = None, *, kept: bool = False) -> Topic:
        """A new topic, with the share that the configuration gives it unless it has one already."""
        share = self._config.share(name) if share is None else share
        if len(self._registry.vacant) > VACANT_MAX:
            self._make_room()
        number = self._plane.declare(name, share_of(share))
        return self._registry.add_topic(number, name, share, kept=kept)

    def _make_room(self) -> None:
        """Forget the longest vacant topic that may go; those that may not come last from now on."""
        vacant = self._registry.vacant
        for topic in list(islice(vacant.values(), AT_ONCE)):
            if not self.is_promised(topic.name):
                self._forget([topic])
                return
            vacant[topic.name] = vacant.pop(topic.name)

    def look(self) -> None:
        """From now on the topics that have been vacant since the last look are due to be forgotten."""
        vacant = list(self._registry.vacant.values())
        self._due = [topic for topic in vacant if topic.rested]
        for topic in vacant:
            topic.rested = True

    @property
    def has_due(self) -> bool:
        """Whether topics are due to be forgotten."""
        return bool(self._due)

    def forget_some(self) -> None:
        """Forget some of the topics that are due."""
        due, self._due = self._due[:AT_ONCE], self._due[AT_ONCE:]
        # It may have been used since, or forgotten to make room.
        vacant = self._registry.vacant
        due = [topic for topic in due if topic.rested and vacant.get(topic.name) is topic]
        if due:
            self._forget(due)

    def undo(self, topic: Topic) -> None:
        """A topic that has just been declared for nothing."""
        if self._plane.forget([topic.number]):
            self._registry.remove_topic(topic)

    def _forget(self, topics: Sequence[Topic]) -> None:
        topics = [topic for topic in topics if not self.is_promised(topic.name)]
        gone = set(self._plane.forget([topic.number for topic in topics]))
        for topic in topics:
            if topic.number in gone:
                self._registry.remove_topic(topic)
            else:
                # Messages of flows that ended still wait: it is the others' turn first.
                self._registry.vacant[topic.name] = self._registry.vacant.pop(topic.name)
