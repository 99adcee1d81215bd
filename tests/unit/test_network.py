"""A simulated network through the binding: what goes in, what comes out, what is refused."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest

from giusto import _core, record
from giusto.errors import FilterSyntax, InvalidInput


def chain(policy: object = "fifo", **options: object) -> _core.Network:
    """Three brokers in a row with links of 100 ns; one message at 0 and two at 10."""
    network = _core.Network(seed=1, **options)  # type: ignore[arg-type]
    brokers = [network.broker(f"b{n}", processing_ns=5) for n in range(3)]
    topic = network.topic("news")
    for source, target in pairwise(brokers):
        network.link(source, target, delay="constant", delay_ns=100, policy=policy)  # type: ignore[arg-type]
    network.publisher(brokers[0], topic, "p", workload="trace", at_ns=[0, 10, 10], size_bytes=64)
    network.subscriber(brokers[2], "s", "news", deadline_ns=320, price=2.0, penalty=0.5)
    return network


def test_a_run_gives_counters_totals_and_earning() -> None:
    run = chain().run(1000)
    # Three brokers of 5 ns and two links of 100: the first takes 215 ns, the next 305, the last 405.
    assert run.totals["delay_max_ns"] == [405]
    assert (run.counters["delivered"], run.counters["late"], run.counters["ideal"]) == (2, 1, 3)
    assert (run.total_earning, run.ideal_earning, run.success_rate) == (2 * 2 - 0.5, 6.0, 2 / 3)
    assert run.links["sent"] == [3, 3]
    assert run.brokers["forwarded"] == [3, 3, 3]


def test_records_are_those_of_every_run() -> None:
    run = chain(name="monday").run(1000)
    table = record.to_table(run.batches())
    assert table.schema.equals(record.schema())
    assert table["run"].to_pylist() == ["monday"] * 3
    assert table["node"].to_pylist() == ["b2"] * 3
    assert table["t_received_ns"].to_pylist() == [215, 315, 415]
    assert table["outcome"].to_pylist() == ["delivered", "delivered", "late"]


def test_hops_are_records_without_a_subscriber() -> None:
    run = chain(records="hops").run(1000)
    table = record.to_table(run.batches())
    hops = [row for row in table.to_pylist() if row["subscriber"] is None]
    assert {row["node"] for row in hops} == {"b0->b1", "b1->b2"}
    assert {row["t_received_ns"] - row["t_egress_ns"] for row in hops} == {100}
    assert (len(hops), len(table)) == (6, 9)


@pytest.mark.parametrize(
    ("path", "build"),
    [
        ("links[0].delay", lambda net: net.link(0, 1, delay="slow")),
        ("links[0].bits_per_s", lambda net: net.link(0, 1, delay="bandwidth")),
        ("links[0].capacity", lambda net: net.link(0, 1, capacity=-1)),
        ("links[0].policy", lambda net: net.link(0, 1, policy=3)),
        ("links[0].expiry", lambda net: net.link(0, 1, expiry="soon")),
        ("publishers[0].workload", lambda net: net.publisher(0, 0, "p", workload="chaos")),
        ("publishers[0].period_ns", lambda net: net.publisher(0, 0, "p")),
        ("publishers[0].limit", lambda net: net.publisher(0, 0, "p", period_ns=1, limit=(1, 2))),
        ("subscribers[0].broker", lambda net: net.subscriber(-1, "s", "#")),
        ("brokers[0].period_ns", lambda net: net.broker("b", input="twrr", period_ns=5)),
        ("topics[0].share", lambda net: net.topic("t", share=5)),
        ("media[0].kind", lambda net: net.medium("m", "token ring")),
        ("faults[0].kind", lambda net: net.fault("rain")),
        ("faults[0].link", lambda net: net.fault("loss")),
    ],
)
def test_what_is_wrong_is_named_with_its_path(path: str, build: Callable[[_core.Network], int]) -> None:
    with pytest.raises(InvalidInput) as caught:
        build(_core.Network())
    assert caught.value.field == path


def test_what_only_the_whole_shows_is_refused_before_anything_runs() -> None:
    network = chain()
    network.subscriber(0, "unreached", "news")
    network.publisher(2, 0, "late", period_ns=100)
    for refused in (network.check, network.run):
        with pytest.raises(InvalidInput) as caught:
            refused(1000)
        assert caught.value.field == "subscribers[1].broker"


def test_an_unknown_option_and_a_bad_filter_are_refused() -> None:
    with pytest.raises(TypeError, match="colour"):
        _core.Network().broker("b", colour=3)  # type: ignore[call-arg]
    with pytest.raises(FilterSyntax):
        _core.Network().subscriber(0, "s", "#", filter="x <")
    with pytest.raises(InvalidInput):
        _core.Network(records="all")


class Last:
    """The newest message goes first."""

    def __init__(self) -> None:
        self.waiting: list[int] = []

    def push(self, number: int, message: _core.Outgoing, terms: list[_core.Terms]) -> None:
        assert [each.deadline_ns for each in terms] == [320]
        self.waiting.append(number)

    def choose(self, now_ns: int) -> int:
        return self.waiting[-1]

    def remove(self, number: int) -> None:
        self.waiting.remove(number)


def test_a_policy_of_ones_own_decides_the_order() -> None:
    run = chain(policy=Last).run(1000)
    table = record.to_table(run.batches())
    assert table["sequence"].to_pylist() == [0, 2, 1]


class Confused(Last):
    def choose(self, now_ns: int) -> int:
        return 99


class Broken(Last):
    def choose(self, now_ns: int) -> int:
        raise ZeroDivisionError("no choice")


def test_the_error_of_a_policy_stops_the_run_with_that_error() -> None:
    with pytest.raises(ZeroDivisionError, match="no choice"):
        chain(policy=Broken).run(1000)
    with pytest.raises(InvalidInput, match="a message that waits"):
        chain(policy=Confused).run(1000)
    with pytest.raises(TypeError):
        chain(policy=lambda missing: None).run(1000)
    queue = _core.OutputQueue(Broken)
    queue.push(0, _core.Outgoing(1, published_ns=0), [_core.Terms(deadline_ns=320)])
    with pytest.raises(ZeroDivisionError):
        queue.pop(1)


class Greedy:
    """The topic with the highest number first."""

    lanes = "topic"

    def __init__(self) -> None:
        self.waiting: set[int] = set()

    def allot(self, topic: int, share: _core.Share) -> None: ...

    def join(self, topic: int, flow: int) -> None: ...

    def arrived(self, lane: int, topic: int, oldest_ns: int) -> None:
        self.waiting.add(lane)

    def choose(self, now_ns: int) -> int:
        return max(self.waiting)

    def served(self, lane: int, oldest_ns: int | None) -> None:
        if oldest_ns is None:
            self.waiting.discard(lane)


def served(policy: object) -> list[str]:
    network = _core.Network()
    network.broker("b", input=policy)  # type: ignore[arg-type]
    for n in range(3):
        network.publisher(0, network.topic(f"t{n}", service_ns=10), f"p{n}", workload="trace", at_ns=[0, 0])
    network.subscriber(0, "s", "#")
    table = record.to_table(network.run(1000).batches())
    topics: list[str] = table["topic"].to_pylist()
    return topics


def test_an_input_policy_of_ones_own_shares_the_processor() -> None:
    assert served(Greedy) == ["t2", "t2", "t1", "t1", "t0", "t0"]
    assert sorted(served("twrr")) == sorted(served(Greedy))


def test_an_input_policy_that_is_wrong_stops_the_run() -> None:
    class Absent(Greedy):
        def choose(self, now_ns: int) -> int:
            return 7

    class Shapeless(Greedy):
        lanes = "queue"

    with pytest.raises(InvalidInput, match="a lane that has messages"):
        served(Absent)
    with pytest.raises(InvalidInput, match="flow or topic"):
        served(Shapeless)


def test_a_shared_wire_counts_what_it_carries() -> None:
    network = _core.Network()
    wire = network.medium("wire", "ethernet")
    topic = network.topic("t")
    for n in range(3):
        network.broker(f"b{n}")
    for n in (1, 2):
        network.link(n, 0, delay="bandwidth", bits_per_s=10_000_000, least_bytes=64, medium=wire)
        network.publisher(n, topic, f"p{n}", workload="trace", at_ns=[0], size_bytes=8)
    network.subscriber(0, "s", "#")
    run = network.run(10**9)
    assert run.media["sent"] == [2]
    assert run.media["collisions"][0] >= 1
    assert run.counters["delivered"] == 2
