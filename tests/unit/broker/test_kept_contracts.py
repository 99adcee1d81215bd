"""What is kept of a request, and what comes back after a restart: all of it, or nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace as replace_terms
from recording import Bench

from giusto import errors
from giusto.broker import topics as topics_module
from giusto.broker.leaving import AT_ONCE
from giusto.broker.store import Store
from giusto.config import BrokerConfig, Guarantee
from giusto.errors import InvalidInput
from giusto.guarantee.costs import Costs
from giusto.protocol import (
    Advertise,
    Advertised,
    Allot,
    Failed,
    NeedTerms,
    OfferTerms,
    ShareTerms,
    Subscribe,
    Subscribed,
    Unadvertise,
    Unsubscribe,
)

OFFER = OfferTerms(min_sep_ns=10_000_000, max_size_bytes=256)
NEED = NeedTerms(max_latency_ns=5_000_000)
MINUTE_NS = 60_000_000_000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "contracts.db"


def under_contract(bench: Bench) -> Subscribed:
    """A monitor and a nurse, with a contract between them."""
    bench.client(1, "monitor")
    bench.client(2, "nurse")
    bench.ask(1, Advertise(id=1, topic="alarm", offer=OFFER))
    answer = bench.ask(2, Subscribe(id=1, pattern="alarm", need=NEED))[-1]
    assert isinstance(answer, Subscribed)
    return answer


def names(path: Path) -> list[str]:
    store = Store(path)
    found = [type(kept).__name__ for kept in store.load()]
    store.close()
    return found


def test_a_contract_comes_back_with_the_same_verdict(path: Path) -> None:
    before = under_contract(Bench(store=Store(path)))
    bench = Bench(store=Store(path))
    bench.client(9, "nurse")
    (answer,) = bench.ask(9, Subscribe(id=1, pattern="alarm", need=NEED))
    assert isinstance(answer, Subscribed)
    assert answer.verdict == before.verdict
    bench.client(8, "monitor")
    assert isinstance(bench.ask(8, Advertise(id=1, topic="alarm", offer=OFFER))[0], Advertised)
    assert ("guard", 0) in bench.plane.calls
    assert not bench.control.leaving.has_due


def test_a_contract_that_nobody_comes_back_for_ends(path: Path) -> None:
    under_contract(Bench(store=Store(path)))
    bench = Bench(store=Store(path))
    assert bench.control.leaving.has_due
    bench.now += MINUTE_NS
    bench.control.tend()
    assert not bench.control.guarded.contracts.by_key
    assert not bench.control.leaving.has_due
    assert names(path) == []


def test_what_was_ended_does_not_come_back(path: Path) -> None:
    bench = Bench(store=Store(path))
    under_contract(bench)
    assert sorted(names(path)) == ["KeptNeed", "KeptOffer"]
    bench.ask(2, Unsubscribe(id=2, subscription=0))
    assert names(path) == []
    bench.ask(1, Unadvertise(id=2, flow=0))
    assert names(path) == []


def test_the_share_of_a_guarded_topic_comes_back(path: Path) -> None:
    bench = Bench(store=Store(path))
    under_contract(bench)
    bench.ask(1, Allot(id=3, topic="alarm", share=ShareTerms(weight=9)))
    bench = Bench(store=Store(path))
    bench.client(1, "monitor")
    bench.ask(1, Advertise(id=1, topic="alarm", offer=OFFER))
    assert ("declare", "alarm", 9) in bench.plane.calls


def test_traffic_without_a_contract_is_not_kept(path: Path) -> None:
    bench = Bench(store=Store(path))
    bench.client(1)
    bench.ask(1, Advertise(id=1, topic="log"))
    bench.ask(1, Subscribe(id=2, pattern="#"))
    assert names(path) == []


def test_if_the_data_plane_refuses_nothing_is_promised_and_nothing_kept(path: Path) -> None:
    bench = Bench(store=Store(path))
    bench.client(1, "monitor")
    bench.ask(1, Advertise(id=1, topic="alarm", offer=OFFER))

    def refuse(*arguments: Any, **options: Any) -> int:
        raise InvalidInput("subscription", "this one", "another one")

    bench.plane.subscribe = refuse  # type: ignore[method-assign]
    answer = bench.ask(1, Subscribe(id=1, pattern="alarm", need=NEED))[-1]
    assert isinstance(answer, Failed)
    guarded = bench.control.guarded
    assert (guarded.book.demands, guarded.book.supplies, guarded.topics) == ((), (), {})
    assert not guarded.contracts.by_key
    assert names(path) == []


def test_what_cannot_be_kept_is_not_promised(path: Path) -> None:
    store = Store(path)
    bench = Bench(store=store)
    bench.client(1, "monitor")
    bench.ask(1, Advertise(id=1, topic="alarm", offer=OFFER))
    store._database.execute("PRAGMA query_only = 1")
    answer = bench.ask(1, Subscribe(id=1, pattern="alarm", need=NEED))[-1]
    assert isinstance(answer, Failed)
    error = getattr(errors, answer.error)(*answer.args)
    assert isinstance(error, errors.NotKept)
    assert not bench.control.guarded.contracts.by_key
    assert bench.control.registry.subscriptions_to("alarm") == []
    assert isinstance(bench.ask(1, Subscribe(id=2, pattern="alarm"))[-2], Subscribed)


def test_a_publisher_that_a_slower_broker_cannot_hold_is_named_and_the_promise_stands(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    under_contract(Bench(store=Store(path)))
    bench = Bench(store=Store(path), costs=replace(Costs(), call_ns=10_000_000))
    assert "the place of monitor on alarm is given up" in caplog.text
    assert [contract.client for contract in bench.control.guarded.contracts.promising("alarm")] == ["nurse"]
    assert bench.control.guarded.book.supplies == ()
    assert names(path) == ["KeptNeed"]


def test_a_longer_reserve_is_waited_for(path: Path) -> None:
    config = BrokerConfig(guarantee=Guarantee(reserve_ns=10 * MINUTE_NS))
    under_contract(Bench(store=Store(path)))
    bench = Bench(config, store=Store(path))
    bench.now += 9 * MINUTE_NS
    bench.control.tend()
    assert len(bench.control.guarded.contracts.away) == 1


def test_if_the_data_plane_refuses_what_was_kept_before_is_kept_still(path: Path) -> None:
    under_contract(Bench(store=Store(path)))
    before = sorted(names(path))
    bench = Bench(store=Store(path))
    bench.client(1, "monitor")
    bench.client(2, "nurse")

    def refuse(*arguments: Any, **options: Any) -> int:
        raise InvalidInput("this", "one", "another one")

    bench.plane.subscribe = bench.plane.advertise = refuse  # type: ignore[method-assign]
    other = replace_terms(OFFER, burst=2)
    for request in (
        Advertise(id=1, topic="alarm", offer=OFFER),
        Advertise(id=2, topic="alarm", offer=other),
    ):
        assert isinstance(bench.ask(1, request)[-1], Failed)
    for need in (NEED, NeedTerms(max_latency_ns=6_000_000)):
        assert isinstance(bench.ask(2, Subscribe(id=3, pattern="alarm", need=need))[-1], Failed)
    assert sorted(names(path)) == before
    assert len(bench.control.guarded.book.supplies) == len(bench.control.guarded.book.demands) == 1


def test_a_share_that_is_as_configured_again_is_not_kept(path: Path) -> None:
    bench = Bench(store=Store(path))
    under_contract(bench)
    bench.ask(1, Allot(id=2, topic="alarm", share=ShareTerms(weight=50)))
    assert "KeptShare" in names(path)
    bench.ask(1, Allot(id=3, topic="alarm", share=ShareTerms()))
    assert "KeptShare" not in names(path)


def test_a_plain_subscription_does_not_take_the_place_of_a_contract_that_waits(path: Path) -> None:
    under_contract(Bench(store=Store(path)))
    bench = Bench(store=Store(path))
    bench.client(9, "nurse")
    bench.ask(9, Subscribe(id=1, pattern="alarm"))
    assert "KeptNeed" in names(path)
    answer = bench.ask(9, Subscribe(id=2, pattern="alarm", need=NEED))[-1]
    assert isinstance(answer, Subscribed)
    assert len(bench.control.guarded.contracts.by_key) == 1


def test_a_topic_on_which_something_is_promised_is_not_forgotten(path: Path) -> None:
    bench = Bench(store=Store(path))
    under_contract(bench)
    flow = next(iter(bench.control.registry.clients[1].flows))
    bench.ask(1, Unadvertise(id=2, flow=flow))
    for _ in range(3):
        bench.control.forget_vacant()
    assert "alarm" in bench.control.registry.topics


def test_a_topic_on_which_something_is_promised_does_not_keep_the_others_from_being_forgotten(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topics_module, "VACANT_MAX", 10)
    bench = Bench(store=Store(path))
    under_contract(bench)
    flow = next(iter(bench.control.registry.clients[1].flows))
    bench.ask(1, Unadvertise(id=2, flow=flow))
    bench.client(3)
    for number in range(30):
        (answer,) = bench.ask(3, Advertise(id=number, topic=f"passing/{number}"))
        assert isinstance(answer, Advertised)
        bench.ask(3, Unadvertise(id=number, flow=answer.flow))
    assert len(bench.control.registry.vacant) <= 11
    assert "alarm" in bench.control.registry.topics


@pytest.mark.parametrize("reason", ["goodbye", "went away"])
def test_many_that_end_at_once_are_let_go_some_at_a_time_with_one_transaction_each(
    path: Path, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(path)
    bench = Bench(store=store)
    bench.client(1, "nurse")
    for number in range(3 * AT_ONCE):
        bench.ask(1, Subscribe(id=number, pattern=f"ward/{number}", need=NEED))
    kept = len(names(path))
    transactions: list[int] = []
    change = store.change

    def counted(added: Any, gone: Any) -> None:
        gone = list(gone)
        transactions.append(len(gone))
        change(added, gone)

    monkeypatch.setattr(store, "change", counted)
    bench.plane.hangs_up(1, said=False)
    bench.plane.happened.append(("closed", 1, reason))
    bench.control.turn(0)
    bench.now += MINUTE_NS
    bench.control.tend()
    while bench.control.leaving.is_behind:
        bench.control.turn(0)
    assert (kept, sum(transactions), max(transactions)) == (3 * AT_ONCE, 3 * AT_ONCE, AT_ONCE)
    assert names(path) == []
    assert not bench.control.leaving.has_due


def test_nothing_of_a_client_without_a_name_is_kept(path: Path) -> None:
    bench = Bench(store=Store(path))
    for conn in (1, 2):
        bench.client(conn, "")
    bench.ask(1, Advertise(id=1, topic="alarm", offer=OFFER))
    assert isinstance(bench.ask(2, Subscribe(id=1, pattern="alarm", need=NEED))[-1], Subscribed)
    assert len(bench.control.guarded.book.demands) == 1
    assert names(path) == []


SMOOTH = BrokerConfig(input="smooth", guarantee=Guarantee(tolerance_ns=500_000_000))


def order_in_plane(bench: Bench) -> list[str]:
    """The guarded topics as the data plane orders them; the book has the same."""
    guarded = bench.control.guarded
    numbers = {topic.number: name for name, topic in bench.control.registry.topics.items()}
    given = {number for call in bench.plane.calls if call[0] == "guard" for number in call[1:]}
    assert {name: one.place for name, one in guarded.topics.items()} == {
        numbers[number]: number for number in given
    }
    return [numbers[number] for number in sorted(given)]


def test_after_a_restart_smooth_has_the_table_that_was_promised_on_whoever_is_back(path: Path) -> None:
    bench = Bench(SMOOTH, store=Store(path))
    for conn, topic in enumerate(("rare", "often", "passing", "busy"), 1):
        bench.client(conn, f"p-{topic}")
        bench.ask(conn, Advertise(id=1, topic=topic, offer=OFFER))
        bench.ask(conn, Allot(id=2, topic=topic, share=ShareTerms(weight=conn)))
    bench.client(9, "nurse")
    for number, topic in enumerate(("busy", "rare", "often")):
        answer = bench.ask(9, Subscribe(id=number, pattern=topic, need=NeedTerms(max_latency_ns=50_000_000)))
        assert isinstance(answer[-1], Subscribed)
    bounds = {name: bench.control.guarded.bound_ns(name) for name in bench.control.guarded.topics}
    back = ["busy", "often", "rare"]
    for number in range(3):
        bench = Bench(SMOOTH, store=Store(path))
        guarded = bench.control.guarded
        assert order_in_plane(bench) == ["rare", "often", "busy"]
        # Some come back, in another order, before the next restart.
        for conn, topic in enumerate(back[: number + 1], 1):
            bench.client(conn, f"p-{topic}")
            assert isinstance(bench.ask(conn, Advertise(id=1, topic=topic, offer=OFFER))[0], Advertised)
        assert order_in_plane(bench) == ["rare", "often", "busy"]
        assert {name: guarded.bound_ns(name) for name in guarded.topics} == bounds


def test_under_smooth_topics_that_nobody_comes_back_for_leave_the_data_plane(path: Path) -> None:
    under_contract(Bench(SMOOTH, store=Store(path)))
    bench = Bench(SMOOTH, store=Store(path))
    assert "alarm" in bench.control.registry.topics
    bench.now += MINUTE_NS
    bench.control.tend()
    assert ("unguard", 0) in bench.plane.calls
    for _ in range(2):
        bench.control.forget_vacant()
    assert "alarm" not in bench.control.registry.topics
