"""The loop of the control thread: when it looks after losses and vacant topics."""

from __future__ import annotations

from recording import Bench

from giusto.broker.server import FORGET_EVERY_NS, LOSSES_EVERY_NS, serve_control
from giusto.config import BrokerConfig
from giusto.protocol import Advertise, Dropped, NeedTerms, Subscribe, Unadvertise


class Loop:
    """Runs the loop for some turns; each turn lasts as long as it was willing to wait."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.waits: list[int] = []
        self._events = bench.plane.events
        bench.plane.events = self._wait

    def _wait(self, timeout_ns: int | None) -> list[object]:
        assert timeout_ns is not None
        self.waits.append(timeout_ns)
        self.bench.now += timeout_ns
        return self._events(timeout_ns)

    def run(self, turns: int) -> None:
        last = len(self.waits) + turns
        serve_control(self.bench.control, lambda: len(self.waits) >= last, lambda: self.bench.now)


def test_a_broker_without_clients_sleeps() -> None:
    loop = Loop(Bench())
    loop.run(3)
    assert loop.waits == [FORGET_EVERY_NS] * 3


def test_losses_are_reported_while_somebody_is_there() -> None:
    bench = Bench()
    bench.client(1)
    bench.ask(1, Advertise(id=1, topic="a"))
    loop = Loop(bench)
    bench.plane.lost = [(1, 0, 0, "policed", 3)]
    loop.run(2)
    assert bench.heard(1) == [Dropped("a", "policed", 3, 0)]
    assert loop.waits == [LOSSES_EVERY_NS] * 2


def test_vacant_topics_are_forgotten_in_time() -> None:
    bench = Bench()
    bench.client(1)
    bench.ask(1, Advertise(id=1, topic="a"))
    bench.ask(1, Unadvertise(id=2, flow=0))
    loop = Loop(bench)
    loop.run(2 + FORGET_EVERY_NS // LOSSES_EVERY_NS)
    assert bench.control.registry.topics == {}


def test_contracts_of_clients_that_are_away_end_in_time_though_nobody_is_there() -> None:
    bench = Bench()
    bench.client(1)
    bench.ask(1, Subscribe(id=1, pattern="a", need=NeedTerms(max_latency_ns=5_000_000)))
    bench.plane.hangs_up(1)
    loop = Loop(bench)
    loop.run(1)
    assert bench.control.leaving.has_due
    loop.run(1 + BrokerConfig().guarantee.reserve_ns // LOSSES_EVERY_NS)
    assert not bench.control.leaving.has_due
    loop.run(2)
    assert loop.waits[-1] > LOSSES_EVERY_NS
