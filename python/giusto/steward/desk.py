"""Answers questions about logs: which one has a topic, how far it is, which rows lie in a range."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

from giusto import _core
from giusto.client import Bus
from giusto.errors import NotRetained
from giusto.retain import columns, requests
from giusto.retain.choosing import Choice
from giusto.retain.covering import covers
from giusto.retain.cursors import require_name
from giusto.retain.log import Log
from giusto.retain.requests import Commit, Done, Fetch, Find, Head, LogIs, Part
from giusto.steward.claim import Claim
from giusto.steward.keeper import Keeper

FETCH_BYTES = 400_000
"""Rows for one answer; with the block that comes on top it stays within one part."""
FORGET_NS = 7 * 86_400 * 1_000_000_000
"""A query that was not heard of for a week does not hold anything up."""
READERS_MAX = 10_000


class Readers:
    """How far each query has fetched since the start; of many, those that fetched last."""

    def __init__(self, most: int = READERS_MAX) -> None:
        self._most = most
        self._fetched: OrderedDict[tuple[str, str], int] = OrderedDict()

    def fetched(self, log: str, query: str, position: int) -> None:
        """A query got all before `position`."""
        key = (log, query)
        self._fetched[key] = max(position, self._fetched.pop(key, 0))
        if len(self._fetched) > self._most:
            self._fetched.popitem(last=False)

    def done_with(self, log: str, query: str, position: int) -> int:
        """What a query that says `position` can have done with: no more than it got."""
        return min(position, self._fetched.get((log, query), 0))


class Desk:
    """All logs of a steward, for whoever asks."""

    def __init__(self, keepers: Sequence[Keeper], claim: Claim) -> None:
        self.name = "desk"
        self.remarks: list[str] = []
        self._keepers = {keeper.log.id: keeper for keeper in keepers}
        self._claim = claim
        self._readers = Readers()

    def begin(self, bus: Bus) -> None:
        """Answer from now on."""
        for question, kind, answer in self._answers():
            bus.serve(requests.LOG + question, answering(kind, answer))

    def tend(self) -> None:
        """Forget queries that are gone."""
        for keeper in self._keepers.values():
            keeper.log.cursors.forget_before(time.time_ns() - FORGET_NS)

    def end(self) -> None:
        """The last to end: another steward may have the folder."""
        self._claim.release()

    def _answers(self) -> list[tuple[str, Any, Callable[[Any], Any]]]:
        return [
            ("find", Find, self.find),
            ("head", Head, lambda asked: self.described(self.log(asked.log))),
            ("fetch", Fetch, self.fetch),
            ("commit", Commit, self.commit),
            ("list", None, lambda _: [self.described(one.log) for one in self._keepers.values()]),
        ]

    def find(self, asked: Find) -> LogIs:
        """The log that has all topics of a pattern; of several the one with the fewest bytes."""
        # Raises if it is no pattern.
        _core.topic_matches(asked.pattern, "any")
        found = [one.log for one in self._keepers.values() if covers(one.log.pattern, asked.pattern)]
        if not found:
            kept = ", ".join(one.log.pattern for one in self._keepers.values()) or "nothing"
            raise NotRetained(asked.pattern, f"not retained: the broker keeps {kept}; see retain.patterns")
        return self.described(min(found, key=lambda log: log.bytes))

    def fetch(self, asked: Fetch) -> Part:
        """Rows of a log as an Arrow stream, or a part of it."""
        choice = Choice(asked.pattern, None if asked.filter is None else _core.Filter(asked.filter))
        found = self.log(asked.log).fetch(
            asked.start, asked.end, choice, FETCH_BYTES, skips_damage=asked.skips_damage
        )
        if asked.query is not None:
            require_name(asked.query)
            self._readers.fetched(asked.log, asked.query, found.next)
        whole = columns.encode(found.batches, columns.fetched()) if found.batches else b""
        body = whole[asked.skip : asked.skip + requests.PART_BYTES]
        return Part(found.next, len(whole), body, found.damaged)

    def commit(self, asked: Commit) -> Done:
        """Move a query's cursor, as far as it has fetched: nobody else's word makes rows go."""
        log = self.log(asked.log)
        known = log.cursors.positions.get(asked.query)
        position = self._readers.done_with(asked.log, asked.query, asked.position)
        if position or known is not None:
            log.commit(asked.query, max(position, known or 0), time.time_ns())
        return Done()

    def log(self, id: str) -> Log:
        """The log with this id."""
        if id not in self._keepers:
            problem = "the broker has no such log: it was removed, or the checkpoint is of another broker"
            raise NotRetained(f"log {id}", problem)
        return self._keepers[id].log

    def described(self, log: Log) -> LogIs:
        """A log in figures."""
        keeper = self._keepers[log.id]
        return LogIs(log.id, log.pattern, log.first, log.head, log.bytes, keeper.lost, log.cursors.positions)


def answering(kind: Any, answer: Callable[[Any], Any]) -> Callable[[_core.Message], bytes]:
    """A handler of requests of one kind."""

    def handler(message: _core.Message) -> bytes:
        asked = None if kind is None else requests.decode(message.payload, kind)
        return requests.encode(answer(asked))

    return handler
