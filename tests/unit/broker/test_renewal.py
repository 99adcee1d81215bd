"""When a subscription hears that its bound is another one, and how little that may take."""

from __future__ import annotations

from giusto import Granted, Need, Offer
from giusto.broker.contracts import Contract, Contracts
from giusto.broker.registry import Client, Subscription
from giusto.broker.renewal import AT_ONCE, WIDE, WIDE_EVERY_NS, Renewal
from giusto.guarantee.book import Book
from giusto.guarantee.model import Setting
from giusto.protocol import NeedTerms
from giusto.testing import MemoryBus

ALARM = Offer(min_sep="10ms", max_size=256)
NEED = Need(max_latency="5ms")


def explained_ns(bus: MemoryBus, topic: str) -> int:
    return max(flow.bound_ns for flow in bus.explain(topic).flows)


def test_a_verdict_follows_whoever_changes_the_bound() -> None:
    bus = MemoryBus(name="nurse")
    bus.connect(name="pump").advertise("alarm", ALARM)
    subscription = bus.subscribe("alarm", NEED)
    before = subscription.verdict
    assert isinstance(before, Granted)
    bus.connect(name="plain").subscribe("alarm")
    bus.connect(name="camera").advertise("video", ALARM)
    bus.connect(name="screen").subscribe("video", NEED)
    bus.clock.advance("1s")
    after = subscription.verdict
    assert isinstance(after, Granted)
    assert before.bound_ns < after.bound_ns == explained_ns(bus, "alarm")


def test_a_verdict_is_that_of_the_flow_with_the_largest_bound() -> None:
    bus = MemoryBus(name="nurse")
    sizes = {"a": 100, "b": 4_000, "c": 1_000}
    for name, size in sizes.items():
        bus.connect(name=name).advertise(f"ward/{name}", Offer(min_sep="1s", max_size=size))
    verdict = bus.subscribe("ward/+", Need(max_latency="50ms")).verdict
    assert isinstance(verdict, Granted)
    assert verdict.bound_ns == max(explained_ns(bus, f"ward/{name}") for name in sizes)


class Desk:
    """Contracts, and a clock that stands still."""

    def __init__(self) -> None:
        self.now_ns = 0
        self.contracts = Contracts()
        self.renewal = Renewal(Book(Setting()), self.contracts, lambda: self.now_ns)

    def contract(self, number: int, topics: int = 1) -> Contract:
        made = Contract(f"key {number}", "reader", f"topic/{number}", NEED)
        made.topics = {f"topic/{number}/{place}" for place in range(topics)}
        self.contracts.add(made)
        client = Client(conn=1, number=1, name="reader", address="")
        self.contracts.arrive(made, Subscription(number, client, made.pattern, NeedTerms()))
        return made


def test_a_turn_has_a_limited_number_of_verdicts_and_all_of_them_come() -> None:
    desk = Desk()
    moved = [desk.contract(number) for number in range(3 * AT_ONCE)]
    desk.renewal.move(moved)
    turns = [desk.renewal.take() for _ in range(4)]
    assert [len(turn) for turn in turns] == [AT_ONCE] * 3 + [0]
    assert [one for turn in turns for one in turn] == moved


def test_a_contract_on_many_topics_is_looked_at_once_a_second() -> None:
    desk = Desk()
    wide, narrow = desk.contract(1, WIDE + 1), desk.contract(2, WIDE)
    desk.renewal.move([wide, narrow])
    assert desk.renewal.take() == [narrow, wide]
    desk.renewal.move([wide, narrow])
    assert desk.renewal.take() == [narrow]
    desk.now_ns = WIDE_EVERY_NS - 1
    assert desk.renewal.take() == []
    desk.now_ns = WIDE_EVERY_NS
    assert desk.renewal.take() == [wide]


def test_a_contract_that_ended_meanwhile_is_not_looked_at() -> None:
    desk = Desk()
    ended, away, kept = (desk.contract(number) for number in range(3))
    desk.renewal.move([ended, away, kept])
    desk.contracts.remove(ended)
    desk.contracts.depart(away, 1)
    assert desk.renewal.take() == [kept]
