"""When a topic that need not be guarded joins the rest: when nothing of it waits and no promise breaks.

A topic that may not go yet is tried again after a while, and after twice as long the next time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain, islice

from giusto.broker.draft import Draft
from giusto.broker.guarded import Guarded
from giusto.broker.holdings import Holding
from giusto.broker.mishap import survived
from giusto.broker.plane import Plane
from giusto.broker.registry import Registry, Topic
from giusto.guarantee.rest import larger, rest_of

AT_ONCE = 16
PAUSE_NS = 100_000_000
PAUSE_MAX_NS = 30_000_000_000


class Releasing:
    """Topics on their way out of the guarded part. `ended` makes a draft count."""

    def __init__(
        self,
        plane: Plane,
        registry: Registry,
        guarded: Guarded,
        ended: Callable[[Draft], None],
        clock: Callable[[], int],
    ) -> None:
        self._plane = plane
        self._registry = registry
        self._guarded = guarded
        self._ended = ended
        self._clock = clock
        # When a topic is tried again, and after which pause.
        self._again: dict[str, tuple[int, int]] = {}

    @property
    def is_behind(self) -> bool:
        """Whether topics could be tried now."""
        return any(self._due())

    def some(self) -> int:
        """Try some of the topics; how many."""
        due = list(islice(self._due(), AT_ONCE))
        for topic in due:
            self._put_off(topic)
            with survived(f"releasing {topic}"):
                self._try(topic)
        return len(due)

    def _due(self) -> Iterator[str]:
        now_ns = self._clock()
        for topic in chain(self._guarded.releasing, self._guarded.stray):
            if self._again.get(topic, (now_ns, 0))[0] <= now_ns:
                yield topic

    def _put_off(self, topic: str) -> None:
        pause_ns = self._again.get(topic, (0, PAUSE_NS))[1]
        self._again[topic] = (self._clock() + pause_ns, min(2 * pause_ns, PAUSE_MAX_NS))

    def _try(self, topic: str) -> None:
        guarded = self._guarded
        if topic in guarded.topics and not guarded.is_needed(topic):
            self._release(topic)
        elif topic in guarded.topics or self._is_unguarded(self._registry.topics.get(topic)):
            guarded.releasing.discard(topic)
            guarded.stray.discard(topic)
        if topic not in guarded.releasing and topic not in guarded.stray:
            self._again.pop(topic, None)

    def _is_unguarded(self, known: Topic | None) -> bool:
        if known is None or known.name not in self._guarded.stray:
            return True
        return bool(self._plane.guard([known.number], False))

    def _release(self, topic: str) -> None:
        known = self._registry.topics.get(topic)
        draft = self._released(topic, known)
        change = self._guarded.change(draft, draft.rest or self._guarded.rest)
        if self._guarded.book.decide(change) is not None:
            return
        if known is None or self._plane.guard([known.number], False):
            self._ended(draft)

    def _released(self, topic: str, known: Topic | None) -> Draft:
        """What it takes to guard a topic no longer: its flows count only where their clients are urgent."""
        guarded = self._guarded
        draft = Draft(released=[topic])
        for contract in guarded.contracts.promising(topic):
            draft.ask_no_more(contract, [topic])
        for client in {held.client for held in guarded.holdings.on(topic)}:
            draft.ended += self._ended_with(client, topic)
        if known is not None and known.flows:
            draft.rest = larger(guarded.rest, rest_of(known.subscribers, known.size_bytes, known.comparisons))
        return draft

    def _ended_with(self, client: str, topic: str) -> list[Holding]:
        """The flows of a client that count no longer when a topic is not guarded any more."""
        held = self._guarded.holdings.of(client)
        if any(one.topic in self._guarded.topics and one.topic != topic for one in held):
            return [one for one in held if one.topic == topic and one.until_ns is not None]
        return held
