"""What each output policy sends next, what a full queue does, and what bad input gets."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from giusto import _core
from giusto.errors import InvalidInput

SECOND = 10**9


def outgoing(
    token: int, *, published_ns: int = 0, priority: int = 0, timeout_ns: int = 0, size_bytes: int = 0
) -> _core.Outgoing:
    return _core.Outgoing(
        token, published_ns=published_ns, size_bytes=size_bytes, priority=priority, timeout_ns=timeout_ns
    )


def terms(deadline_ns: int, price: float = 1.0, penalty: float = 0.1) -> _core.Terms:
    return _core.Terms(deadline_ns=deadline_ns, price=price, penalty=penalty)


def drain(queue: _core.OutputQueue, now_ns: int = 0) -> list[int]:
    tokens = []
    while (message := queue.pop(now_ns)[0]) is not None:
        tokens.append(message.token)
    return tokens


def test_registry_lists_what_may_be_configured() -> None:
    assert _core.output_policies() == ["fifo", "priority", "lrt", "mtep"]
    assert _core.OutputQueue("mtep-reference").policy == "mtep-reference"


def test_fifo_ignores_priority_and_deadlines() -> None:
    queue = _core.OutputQueue("fifo")
    for token, priority in enumerate([0, 7, 3]):
        queue.push(0, outgoing(token, priority=priority), [terms(SECOND - token)])
    assert drain(queue) == [0, 1, 2]


def test_priority_is_strict_and_first_come_inside_a_level() -> None:
    queue = _core.OutputQueue("priority")
    for token, priority in enumerate([0, 7, 3, 7, 0, 3]):
        queue.push(0, outgoing(token, priority=priority))
    assert drain(queue) == [1, 3, 2, 5, 0, 4]


def test_lrt_takes_the_least_mean_remaining_time() -> None:
    queue = _core.OutputQueue("lrt")
    queue.push(0, outgoing(0), [terms(10 * SECOND), terms(50 * SECOND)])  # mean due at 30 s
    queue.push(0, outgoing(1, published_ns=5 * SECOND), [terms(24 * SECOND)])  # 29 s
    queue.push(0, outgoing(2), [])  # never due
    queue.push(0, outgoing(3), [terms(30 * SECOND)])  # 30 s, after the first
    queue.push(0, outgoing(4, timeout_ns=SECOND), [])  # 1 s
    assert drain(queue) == [4, 1, 0, 3, 2]


def test_mtep_prefers_the_urgent_to_the_dear_that_can_wait() -> None:
    queue = _core.OutputQueue("mtep", mean_transmission_ns=3 * SECOND, weight=0.0)
    queue.push(0, outgoing(0), [terms(60 * SECOND, price=10.0)])
    queue.push(0, outgoing(1), [terms(2 * SECOND, price=1.0)])
    assert drain(queue) == [1, 0]
    queue.push(0, outgoing(2), [])
    queue.push(0, outgoing(3), [terms(60 * SECOND)])
    assert drain(queue) == [2, 3]  # both priorities are 0: nothing is lost by waiting


def test_mtep_with_full_weight_sends_the_greatest_expected_earning() -> None:
    queue = _core.OutputQueue("mtep", mean_transmission_ns=3 * SECOND, weight=1.0)
    for token, price in enumerate([1.0, 3.0, 2.0]):
        queue.push(0, outgoing(token), [terms(60 * SECOND, price=price)])
    assert drain(queue) == [1, 2, 0]


def test_metrics_of_the_stock_example_of_the_paper() -> None:
    """Deadline 40 s, price 1.5, penalty 0.15; 50 KB over one link of N(60 ms, (20 ms)²) per KB."""
    link = _core.Terms(
        deadline_ns=40 * SECOND,
        price=1.5,
        penalty=0.15,
        nodenum=1,
        mean_ns_per_kb=60e6,
        variance_ns2_per_kb2=20e6**2,
        subscriber_delay_ns=20_000_000,
    )
    queue = _core.OutputQueue(
        "mtep", mean_transmission_ns=SECOND, processing_delay_ns=2_000_000, weight=0.4, epsilon=0.04
    )
    queue.push(0, outgoing(7, size_bytes=50 * 1024, timeout_ns=60 * SECOND), [link])
    now = 36 * SECOND
    slack = 40.0 - 36.0 - 0.002 - 0.020 - 3.0
    chance, later = (0.5 * math.erfc(-z / math.sqrt(2)) for z in (slack, slack - 1.0))
    metrics = queue.metrics(now, 7)
    assert metrics is not None
    assert metrics.expected_earning == pytest.approx(1.5 * chance)
    assert metrics.expected_penalty == pytest.approx(0.15 * (1 - chance))
    cost = 1.65 * (chance - later)
    assert metrics.postponed_cost == pytest.approx(cost)
    priority = 0.4 * metrics.expected_earning + 0.6 * (cost + metrics.expected_penalty)
    assert metrics.priority == pytest.approx(priority)
    assert queue.metrics(now, 8) is None
    assert _core.OutputQueue("fifo").metrics(now, 7) is None


def test_a_new_mean_transmission_changes_the_choice() -> None:
    queue = _core.OutputQueue("mtep", mean_transmission_ns=0, weight=0.1)
    queue.push(0, outgoing(0), [terms(60 * SECOND, price=2.0)])
    queue.push(0, outgoing(1), [terms(5 * SECOND, price=1.0)])
    queue.push(0, outgoing(2), [terms(60 * SECOND, price=2.0)])
    first, _ = queue.pop(0)
    assert first is not None
    assert first.token == 0
    queue.mean_transmission_ns = 10 * SECOND
    assert drain(queue) == [1, 2]


@pytest.mark.parametrize("policy", _core.output_policies())
def test_timeout_and_last_deadline_are_the_last_live_instants(policy: str) -> None:
    def sent_at(now_ns: int, message: _core.Outgoing, *wanted: _core.Terms) -> bool:
        queue = _core.OutputQueue(policy, expiry="dead")
        queue.push(0, message, wanted)
        sent, lost = queue.pop(now_ns)
        assert lost == ([] if sent else [(message.token, "expired")])
        return sent is not None

    late = terms(SECOND), terms(2 * SECOND)
    assert sent_at(2 * SECOND, outgoing(1), *late)
    assert not sent_at(2 * SECOND + 1, outgoing(1), *late)
    assert sent_at(SECOND, outgoing(1, timeout_ns=SECOND), *late)
    assert not sent_at(SECOND + 1, outgoing(1, timeout_ns=SECOND), *late)
    assert sent_at(10**18, outgoing(1))


@pytest.mark.parametrize("policy", _core.output_policies())
def test_time_does_not_go_back(policy: str) -> None:
    queue = _core.OutputQueue(policy)
    queue.pop(SECOND)
    queue.push(0, outgoing(1, timeout_ns=SECOND - 1))
    assert queue.pop(0) == (None, [(1, "expired")])


@pytest.mark.parametrize(
    ("overflow", "outcome", "lost", "left"),
    [
        ("drop_oldest", "queued", [(0, "evicted")], [1, 2]),
        ("drop_new", "refused", [(2, "refused")], [0, 1]),
        ("disconnect", "disconnect", [(2, "refused")], [0, 1]),
    ],
)
@pytest.mark.parametrize("policy", _core.output_policies())
def test_a_full_queue_does_what_its_overflow_policy_says(
    policy: str, overflow: str, outcome: str, lost: list[tuple[int, str]], left: list[int]
) -> None:
    queue = _core.OutputQueue(policy, capacity=2, overflow=overflow)
    queue.push(0, outgoing(0))
    queue.push(0, outgoing(1))
    assert queue.push(0, outgoing(2)) == (outcome, lost)
    assert drain(queue) == left


@pytest.mark.parametrize(
    ("overflow", "outcome", "lost", "left"),
    [
        ("drop_oldest", "queued", [(0, "evicted"), (1, "evicted")], [2, 3]),
        ("drop_new", "refused", [(3, "refused")], [0, 1, 2]),
        ("disconnect", "disconnect", [(3, "refused")], [0, 1, 2]),
    ],
)
@pytest.mark.parametrize("policy", _core.output_policies())
def test_a_queue_is_full_of_bytes_too(
    policy: str, overflow: str, outcome: str, lost: list[tuple[int, str]], left: list[int]
) -> None:
    queue = _core.OutputQueue(policy, limit_bytes=100, overflow=overflow)
    for token in range(3):
        assert queue.push(0, outgoing(token, size_bytes=30)) == ("queued", [])
    assert queue.push(0, outgoing(3, size_bytes=70)) == (outcome, lost)
    assert queue.bytes == (100 if overflow == "drop_oldest" else 90)
    assert drain(queue) == left
    assert queue.bytes == 0


@pytest.mark.parametrize("policy", _core.output_policies())
def test_a_message_larger_than_the_room_may_wait_alone(policy: str) -> None:
    queue = _core.OutputQueue(policy, limit_bytes=100)
    assert queue.push(0, outgoing(0, size_bytes=1_000)) == ("queued", [])
    assert queue.push(0, outgoing(1, size_bytes=2_000)) == ("queued", [(0, "evicted")])
    assert queue.push(0, outgoing(2, size_bytes=1)) == ("queued", [(1, "evicted")])
    assert (drain(queue), queue.bytes) == ([2], 0)


def test_a_large_message_of_no_urgency_pushes_out_nothing_urgent() -> None:
    queue = _core.OutputQueue("priority", limit_bytes=100)
    queue.push(0, outgoing(0, priority=7, size_bytes=60))
    queue.push(0, outgoing(1, priority=1, size_bytes=30))
    assert queue.push(0, outgoing(2, priority=0, size_bytes=90)) == ("queued", [(2, "evicted")])
    assert drain(queue) == [0, 1]


@pytest.mark.parametrize("policy", _core.output_policies())
def test_an_expired_message_makes_room_before_a_live_one_is_lost(policy: str) -> None:
    queue = _core.OutputQueue(policy, capacity=2)
    queue.push(0, outgoing(0, timeout_ns=1))
    queue.push(0, outgoing(1))
    assert queue.push(2, outgoing(2)) == ("queued", [(0, "expired")])
    assert drain(queue, 2) == [1, 2]


def test_priority_gives_up_the_least_urgent_even_if_it_is_the_newcomer() -> None:
    queue = _core.OutputQueue("priority", capacity=2)
    queue.push(0, outgoing(0, priority=5))
    queue.push(0, outgoing(1, priority=2))
    assert queue.push(0, outgoing(2, priority=5)) == ("queued", [(1, "evicted")])
    assert queue.push(0, outgoing(3, priority=0)) == ("queued", [(3, "evicted")])
    assert drain(queue) == [0, 2]


NAN = math.nan
BAD_TERMS: list[tuple[str, Callable[[], _core.Terms]]] = [
    ("terms[1].deadline_ns", lambda: terms(0)),
    ("terms[1].deadline_ns", lambda: terms(2**63 - 1)),
    ("terms[1].price", lambda: terms(1, price=NAN)),
    ("terms[1].price", lambda: terms(1, price=-1.0)),
    ("terms[1].penalty", lambda: terms(1, penalty=math.inf)),
    ("terms[1].nodenum", lambda: _core.Terms(deadline_ns=1, nodenum=2**32 - 1)),
    ("terms[1].mean_ns_per_kb", lambda: _core.Terms(deadline_ns=1, mean_ns_per_kb=NAN)),
    ("terms[1].variance_ns2_per_kb2", lambda: _core.Terms(deadline_ns=1, variance_ns2_per_kb2=-1.0)),
    ("terms[1].subscriber_delay_ns", lambda: _core.Terms(deadline_ns=1, subscriber_delay_ns=-1)),
]


@pytest.mark.parametrize(("path", "bad"), BAD_TERMS)
@pytest.mark.parametrize("policy", _core.output_policies())
def test_bad_terms_are_named_and_change_nothing(
    policy: str, path: str, bad: Callable[[], _core.Terms]
) -> None:
    queue = _core.OutputQueue(policy, processing_delay_ns=2**40)
    queue.push(0, outgoing(0), [terms(SECOND)])
    with pytest.raises(InvalidInput) as caught:
        queue.push(0, outgoing(1), [terms(SECOND), bad()])
    assert caught.value.field == path
    assert (len(queue), queue.counts["pushed"]) == (1, 1)


@pytest.mark.parametrize(
    ("field", "make"),
    [
        ("policy", lambda: _core.OutputQueue("lifo")),
        ("capacity", lambda: _core.OutputQueue("fifo", capacity=0)),
        ("capacity", lambda: _core.OutputQueue("fifo", capacity=2**70)),
        ("overflow", lambda: _core.OutputQueue("fifo", overflow="drop")),
        ("expiry", lambda: _core.OutputQueue("fifo", expiry="soon")),
        ("weight", lambda: _core.OutputQueue("mtep", weight=1.1)),
        ("weight", lambda: _core.OutputQueue("mtep", weight=NAN)),
        ("epsilon", lambda: _core.OutputQueue("mtep", epsilon=1.0)),
        ("processing_delay_ns", lambda: _core.OutputQueue("mtep", processing_delay_ns=-1)),
        ("mean_transmission_ns", lambda: _core.OutputQueue("mtep", mean_transmission_ns=2**63)),
        ("token", lambda: outgoing(-1)),
        ("published_ns", lambda: _core.OutputQueue("fifo").push(0, outgoing(0, published_ns=2**62))),
        ("timeout_ns", lambda: _core.OutputQueue("fifo").push(0, outgoing(0, timeout_ns=-1))),
        ("priority", lambda: _core.OutputQueue("fifo").push(0, outgoing(0, priority=8))),
        ("now_ns", lambda: _core.OutputQueue("fifo").pop(2**64)),
    ],
)
def test_bad_parameters_are_named(field: str, make: Callable[[], object]) -> None:
    with pytest.raises(InvalidInput) as caught:
        make()
    assert caught.value.field == field
