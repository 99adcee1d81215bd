"""A mistake of ours: the broker goes on, promises count on, and a request that failed was never made."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from recording import Bench

from giusto.broker import plane as codes
from giusto.broker.leaving import AGAIN_NS
from giusto.broker.store import Store
from giusto.config import BrokerConfig
from giusto.errors import InvalidInput, Overload
from giusto.protocol import (
    Advertise,
    Advertised,
    Allot,
    Done,
    Failed,
    NeedTerms,
    OfferTerms,
    Request,
    ShareTerms,
    Subscribe,
    Subscribed,
    Unadvertise,
    Unsubscribe,
    VerdictIs,
)

OFFER = OfferTerms(min_sep_ns=10_000_000, max_size_bytes=256)
NEED = NeedTerms(max_latency_ns=5_000_000)
MINUTE_NS = 60_000_000_000


def failing(
    error: Exception, *, times: int = 1, then: Callable[..., Any] | None = None
) -> Callable[..., Any]:
    """A function that raises, so many times."""
    left = [times]

    def fail(*arguments: Any, **options: Any) -> Any:
        if left[0]:
            left[0] -= 1
            raise error
        assert then is not None
        return then(*arguments, **options)

    return fail


def under_contract(config: BrokerConfig | None = None, store: Store | None = None) -> Bench:
    """A monitor (1) and a nurse (2), with a contract between them."""
    bench = Bench(config, store=store)
    bench.client(1, "monitor")
    bench.client(2, "nurse")
    bench.ask(1, Advertise(id=1, topic="alarm", offer=OFFER))
    assert isinstance(bench.ask(2, Subscribe(id=1, pattern="alarm", need=NEED))[-1], Subscribed)
    return bench


def counted(bench: Bench) -> tuple[int, int, int]:
    """Flows, promises and contracts."""
    guarded = bench.control.guarded
    return len(guarded.book.supplies), len(guarded.book.demands), len(guarded.contracts.by_key)


def is_refused(bench: Bench, conn: int, request: Request) -> bool:
    return any(isinstance(answer, Failed) for answer in bench.ask(conn, request))


# --- beside a request


@pytest.mark.parametrize("error", [Overload("no bound"), RuntimeError("a bug")])
def test_a_verdict_that_cannot_be_told_ends_nothing(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = under_contract()
    book = bench.control.guarded.book
    with monkeypatch.context() as patch:
        patch.setattr(book, "worst", failing(error))
        bench.client(3, "late")
        assert isinstance(bench.ask(3, Advertise(id=1, topic="alarm", offer=OFFER))[0], Advertised)
    assert counted(bench) == (2, 1, 1)
    bench.heard(2)
    bench.client(4, "later")
    bench.ask(4, Advertise(id=1, topic="alarm", offer=OFFER))
    assert any(isinstance(notice, VerdictIs) for notice in bench.heard(2))


@pytest.mark.parametrize("reason", ["goodbye", "went away"])
def test_what_cannot_be_let_go_counts_on_and_is_tried_again(
    reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = under_contract()
    monkeypatch.setattr(
        bench.control.guarded.book,
        "commit",
        failing(RuntimeError("a bug"), times=2, then=bench.control.guarded.book.commit),
    )
    for conn in (1, 2):
        bench.plane.hangs_up(conn, said=False)
        bench.plane.happened.append(("closed", conn, reason))
    bench.control.turn(0)
    assert bench.control.registry.clients == {}
    bench.now += MINUTE_NS
    bench.control.tend()
    assert 0 < sum(counted(bench)) <= 3
    bench.now += AGAIN_NS
    bench.control.tend()
    bench.now += AGAIN_NS
    bench.control.tend()
    assert counted(bench) == (0, 0, 0)
    assert not bench.control.leaving.has_due


def test_a_topic_that_cannot_be_released_is_tried_again_more_and_more_seldom(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bench = under_contract()
    book, tries = bench.control.guarded.book, []
    monkeypatch.setattr(
        book, "decide", lambda change: tries.append(bench.now) or failing(RuntimeError("a bug"))()
    )
    bench.ask(2, Unsubscribe(id=2, subscription=0))
    assert "alarm" in bench.control.guarded.topics
    for _ in range(3000):
        bench.now += 200_000_000
        bench.control.tend()
    pauses = [later - earlier for earlier, later in pairwise(tries)]
    assert pauses == sorted(pauses)
    assert pauses[-1] == 30_000_000_000
    monkeypatch.undo()
    bench.now += MINUTE_NS
    bench.control.tend()
    assert bench.control.guarded.topics == {}


@pytest.mark.parametrize("what", ["losses", "forget"])
def test_a_data_plane_that_fails_once_is_asked_again(what: str) -> None:
    bench = under_contract()
    setattr(bench.plane, what, failing(RuntimeError("a bug"), then=getattr(bench.plane, what)))
    bench.client(3)
    bench.ask(3, Advertise(id=1, topic="log"))
    bench.ask(3, Unadvertise(id=2, flow=next(iter(bench.control.registry.clients[3].flows))))
    for _ in range(4):
        bench.control.report_losses()
        bench.control.forget_vacant()
    assert "log" not in bench.control.registry.topics


# --- a request that fails


@pytest.mark.parametrize("call", ["guard", "allot"])
@pytest.mark.parametrize("error", [InvalidInput("topic", "alarm", "another"), RuntimeError("a bug")])
def test_a_need_that_the_data_plane_cannot_guard_was_never_there(
    call: str, error: Exception, tmp_path: Path
) -> None:
    store = Store(tmp_path / "contracts.db")
    bench = Bench(BrokerConfig(input="edf"), store=store)
    bench.client(1, "monitor")
    bench.client(2, "nurse")
    bench.ask(1, Advertise(id=1, topic="alarm", offer=OFFER))
    setattr(bench.plane, call, failing(error, then=getattr(bench.plane, call)))
    answer = bench.ask(2, Subscribe(id=1, pattern="alarm", need=NEED))
    if isinstance(error, InvalidInput):
        assert isinstance(answer[-1], Failed)
    else:
        assert bench.plane.closed[2][0] == codes.INTERNAL
        bench.client(2, "nurse")
    assert counted(bench) == (0, 0, 0)
    assert (store.load(), bench.control.guarded.topics) == ([], {})
    assert bench.control.registry.subscriptions_to("alarm") == []
    (again,) = [
        one
        for one in bench.ask(2, Subscribe(id=2, pattern="alarm", need=NEED))
        if isinstance(one, Subscribed)
    ]
    # The data plane gives the number anew: it has forgotten the first.
    assert again.subscription == 0
    assert counted(bench) == (1, 1, 1)


def test_a_share_that_was_set_for_a_request_that_failed_is_set_back(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(BrokerConfig(input="edf"))
    bench.client(1, "monitor")
    bench.ask(1, Advertise(id=1, topic="alarm", offer=OFFER))
    shares: list[int | None] = []
    monkeypatch.setattr(bench.plane, "allot", lambda topic, share: shares.append(share.deadline_ns))
    monkeypatch.setattr(bench.control.guarded.book, "commit", failing(InvalidInput("a", "bug", "none")))
    assert is_refused(bench, 1, Subscribe(id=2, pattern="alarm", need=NEED))
    wanted, back = shares
    assert wanted != back
    assert ("unguard", 0) in bench.plane.calls


def test_an_offer_that_cannot_be_counted_was_never_made(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = under_contract()
    bench.client(3, "late")
    with monkeypatch.context() as patch:
        patch.setattr(bench.control.guarded.book, "commit", failing(InvalidInput("a", "bug", "none")))
        assert is_refused(bench, 3, Advertise(id=1, topic="alarm", offer=OFFER))
    assert counted(bench) == (1, 1, 1)
    assert [flow.client.name for flow in bench.control.registry.topics["alarm"].flows.values()] == ["monitor"]
    assert isinstance(bench.ask(3, Advertise(id=2, topic="alarm", offer=OFFER))[0], Advertised)


def test_a_share_that_cannot_be_counted_is_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = under_contract()
    shares: list[int | None] = []
    monkeypatch.setattr(bench.plane, "allot", lambda topic, share: shares.append(share.weight))
    monkeypatch.setattr(bench.control.guarded.book, "commit", failing(InvalidInput("a", "bug", "none")))
    assert is_refused(bench, 1, Allot(id=2, topic="alarm", share=ShareTerms(weight=9)))
    assert shares == [9, 1]
    assert bench.control.registry.topics["alarm"].share == ShareTerms()


def test_a_topic_that_stays_guarded_by_mistake_is_let_go_when_its_messages_are_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bench = Bench()
    bench.client(1, "monitor")
    bench.ask(1, Advertise(id=1, topic="alarm", offer=OFFER))
    guard = bench.plane.guard
    with monkeypatch.context() as patch:
        patch.setattr(bench.control.guarded.book, "commit", failing(InvalidInput("a", "bug", "none")))
        patch.setattr(bench.plane, "guard", lambda topics, on: guard(topics, on) if on else [])
        assert is_refused(bench, 1, Subscribe(id=2, pattern="alarm", need=NEED))
    assert bench.control.guarded.stray == {"alarm"}
    assert bench.control.leaving.has_due
    bench.now += MINUTE_NS
    bench.control.tend()
    assert ("unguard", 0) in bench.plane.calls
    assert not bench.control.leaving.has_due


def test_an_end_that_fails_is_an_end_for_the_client_and_counts_on(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = under_contract()
    with monkeypatch.context() as patch:
        patch.setattr(bench.control.guarded.book, "commit", failing(RuntimeError("a bug")))
        assert isinstance(bench.ask(2, Unsubscribe(id=2, subscription=0))[0], Done)
    assert counted(bench) == (1, 1, 1)
    bench.now += AGAIN_NS
    bench.control.tend()
    assert counted(bench) == (0, 0, 0)
