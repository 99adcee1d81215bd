"""Whatever clients ask, and however they leave: what was promised holds, and nothing is left behind."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from giusto import GiustoError, Need, Offer
from giusto.broker.guarded import Guarded
from giusto.config import BrokerConfig, Guarantee
from giusto.guarantee.book import Book
from giusto.guarantee.model import Change
from giusto.testing import MemoryBus

CLIENTS = range(4)
TOPICS = ("a/1", "a/2", "b")
PATTERNS = (*TOPICS, "a/+", "#")
OFFERS = (
    Offer(max_size=200),
    Offer(min_sep="20ms", max_sep="500ms", max_size=200),
    Offer(min_sep="5ms", max_size=2000, burst=3),
    Offer(rate=20_000, max_size=100),
)
CONFIG = BrokerConfig(guarantee=Guarantee(reserve_ns=2_000_000_000))
NARROW = BrokerConfig(
    input="edf",
    guarantee=Guarantee(
        reserve_ns=2_000_000_000,
        link_bandwidth_in_bps=10**10,
        link_bandwidth_out_bps=10**10,
        tolerance_ns=10**8,
    ),
)
"""Deadlines follow from promises, less the time on links that others share."""
NEEDS = (Need(), Need(max_latency="600us"), Need(max_latency="20ms"), Need(max_latency="50ms", max_sep="1s"))

Act = tuple[str, int, int, int]
acts = st.lists(
    st.tuples(
        st.sampled_from(["advertise", "subscribe", "unadvertise", "unsubscribe", "leave", "break", "wait"]),
        st.sampled_from(CLIENTS),
        st.integers(0, 4),
        st.integers(0, 3),
    ),
    max_size=30,
)


class Play:
    """Some clients of one broker, and what each of them has."""

    def __init__(self, config: BrokerConfig = CONFIG) -> None:
        self.bus = MemoryBus(config, name="watcher")
        self.clients: dict[int, MemoryBus] = {}
        self.publishers: dict[int, list[Any]] = {number: [] for number in CLIENTS}
        self.subscriptions: dict[int, list[Any]] = {number: [] for number in CLIENTS}

    @property
    def guarded(self) -> Guarded:
        return self.bus._world._control.guarded

    def client(self, number: int) -> MemoryBus:
        if number not in self.clients:
            self.clients[number] = self.bus.connect(name=f"c{number}", reconnect=False)
        return self.clients[number]

    def do(self, act: Act) -> None:
        what, number, place, kind = act
        with suppress(GiustoError):
            getattr(self, what)(number, place, kind)

    def advertise(self, number: int, place: int, kind: int) -> None:
        topic = TOPICS[place % len(TOPICS)]
        self.publishers[number].append(self.client(number).advertise(topic, OFFERS[kind]))

    def subscribe(self, number: int, place: int, kind: int) -> None:
        self.subscriptions[number].append(self.client(number).subscribe(PATTERNS[place], NEEDS[kind]))

    def unadvertise(self, number: int, place: int, kind: int) -> None:
        self._pop(self.publishers[number], place, lambda one: one.unadvertise())

    def unsubscribe(self, number: int, place: int, kind: int) -> None:
        self._pop(self.subscriptions[number], place, lambda one: one.unsubscribe())

    def leave(self, number: int, place: int, kind: int) -> None:
        self._go(number, lambda client: client.close())

    def wait(self, number: int, place: int, kind: int) -> None:
        self.bus.clock.advance(("1ms", "100ms", "1s", "3s")[kind])

    def _pop(self, parties: list[Any], place: int, end: Callable[[Any], None]) -> None:
        if parties:
            end(parties.pop(place % len(parties)))

    def _go(self, number: int, how: Callable[[MemoryBus], None]) -> None:
        client = self.clients.pop(number, None)
        self.publishers[number], self.subscriptions[number] = [], []
        if client is not None:
            how(client)


setattr(Play, "break", lambda self, number, place, kind: self._go(number, lambda c: c.break_connection()))


def check(guarded: Guarded) -> None:
    """Every promise holds, and the book says what a new one with the same contents says."""
    anew = Book(guarded.book.setting)
    book = guarded.book
    topics = tuple(book.topics.values())
    anew.commit(Change(topics=topics, supplies=book.supplies, demands=book.demands, rest=guarded.rest))
    for topic, allotted in guarded.topics.items():
        assert book.topics[topic] == allotted
        promises = [one.promise_ns for one in guarded.contracts.promising(topic)]
        for held in guarded.holdings.on(topic):
            bound = book.bound(held.client, topic)
            assert bound.total_ns <= min(filter(None, promises), default=bound.total_ns)
            assert bound == anew.bound(held.client, topic)
    counted = {(held.client, held.topic) for topic in (*TOPICS,) for held in guarded.holdings.on(topic)}
    assert {(supply.client, supply.topic) for supply in book.supplies} == counted


@given(acts)
def test_every_promise_holds_after_whatever_is_done(acts: list[Act]) -> None:
    play = Play()
    for act in acts:
        play.do(act)
        check(play.guarded)


@given(acts)
@example(
    [
        ("advertise", 0, 0, 2),
        ("advertise", 1, 2, 1),
        ("subscribe", 2, 0, 2),
        ("subscribe", 3, 2, 2),
        ("subscribe", 3, 0, 0),
        ("unsubscribe", 3, 1, 0),
    ]
)
def test_the_data_plane_has_the_deadlines_that_the_book_counts_with(acts: list[Act]) -> None:
    play = Play(NARROW)
    for act in acts:
        play.do(act)
        views = play.bus._world._plane.views()
        for topic, share in zip(views["topics"], views["shares"], strict=True):
            wanted = play.guarded.book.wanted(topic)
            assert wanted is None or share.deadline_ns == wanted.deadline_ns


@given(acts)
def test_nothing_is_left_when_everybody_has_gone(acts: list[Act]) -> None:
    play = Play()
    for act in acts:
        play.do(act)
    for number in CLIENTS:
        play.leave(number, 0, 0)
    play.bus.clock.advance("10s")
    guarded = play.guarded
    assert (guarded.book.supplies, guarded.book.demands, dict(guarded.book.topics)) == ((), (), {})
    assert not guarded.contracts.by_key
    assert not play.bus._world._control.leaving.has_due
    for topic in TOPICS:
        play.bus.advertise(topic).unadvertise()
