"""The decisions that both faces share, without a connection."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from giusto.client.backoff import FIRST_NS, MOST_NS, delay_ns
from giusto.client.events import EVENTS_MAX, EventQueue, Lost
from giusto.client.exchange import reply_topic
from giusto.client.ledger import Ledger, failure
from giusto.client.report import report
from giusto.errors import Closed, Duplicate, GiustoError, ProtocolError
from giusto.protocol import Done, Failed, encode


@given(st.integers(0, 200), st.floats(0, 1))
def test_delays_grow_to_a_limit_and_chance_takes_at_most_half(attempt: int, chance: float) -> None:
    full = delay_ns(attempt, 0.0)
    assert full / 2 - 1 <= delay_ns(attempt, chance) <= full <= MOST_NS
    assert full <= delay_ns(attempt + 1, 0.0)


def test_the_first_attempt_is_made_at_once() -> None:
    assert [delay_ns(attempt, 0.0) for attempt in range(3)] == [0, FIRST_NS, 2 * FIRST_NS]


def test_an_answer_is_given_once_to_who_asked() -> None:
    ledger = Ledger()
    first, second = ledger.next_id(), ledger.next_id()
    assert list(ledger.settle(encode(Done(id=second)))) == []
    assert ledger.take_answer(first) is None
    assert ledger.take_answer(second) == Done(id=second)
    assert ledger.take_answer(second) is None


def test_an_answer_that_nobody_waits_for_is_dropped() -> None:
    ledger = Ledger()
    number = ledger.next_id()
    ledger.forget_request(number)
    assert list(ledger.settle(encode(Done(id=number)))) == []
    assert ledger.take_answer(number) is None


def test_a_refusal_is_raised_as_the_exception_that_it_names() -> None:
    ledger = Ledger()
    number = ledger.next_id()
    list(ledger.settle(encode(Failed(id=number, error="Duplicate", args=["client", "a"]))))
    with pytest.raises(Duplicate, match="client a exists already"):
        ledger.take_answer(number)


@pytest.mark.parametrize("error", ["NoSuchError", "annotations", "TooLarge"])
def test_a_refusal_of_an_unknown_kind_is_still_an_error(error: str) -> None:
    raised = failure(Failed(id=1, error=error, args=["text"]))
    assert type(raised) is GiustoError
    assert error in str(raised)


def test_a_loss_fails_what_was_asked_before_it() -> None:
    ledger = Ledger()
    before = ledger.next_id()
    ledger.fail_requests(Closed("gone"))
    after = ledger.next_id()
    assert ledger.take_answer(after) is None
    with pytest.raises(Closed, match="gone"):
        ledger.take_answer(before)


def test_what_is_no_control_body_is_a_protocol_error() -> None:
    with pytest.raises(ProtocolError):
        list(Ledger().settle(b"\xc1"))


def test_events_that_nobody_takes_make_room_and_are_counted() -> None:
    queue = EventQueue()
    for number in range(EVENTS_MAX + 3):
        queue.put(Lost(str(number), 0, 0))
    assert (len(queue), queue.missed) == (EVENTS_MAX, 3)
    first = queue.take()
    assert isinstance(first, Lost)
    assert first.reason == "3"


def test_a_reply_topic_is_one_level_whatever_the_client_is_called() -> None:
    assert reply_topic("ward/3+#") == "_reply/ward_3__"


def test_a_report_of_nothing_says_so() -> None:
    empty = report("a/+", [])
    assert str(empty) == "a/+: no messages"
    assert (empty.messages, empty.lost, empty.late) == (0, 0, 0)
    with pytest.raises(KeyError):
        empty["a/1"]
