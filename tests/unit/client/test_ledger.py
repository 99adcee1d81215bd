"""The decisions that both faces share, without a connection."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from giusto.client.backoff import FIRST_NS, MOST_NS, delay_ns
from giusto.client.events import EVENTS_MAX, EventQueue, Lost
from giusto.client.exchange import Exchange, is_reply_topic, reply_topic
from giusto.client.ledger import Ledger, failure
from giusto.client.report import Periods, report
from giusto.errors import Closed, Duplicate, GiustoError, ProtocolError
from giusto.protocol import Advertised, Answer, Done, Failed, Subscribed, Unadvertise, Unsubscribe, encode


@given(st.integers(0, 200), st.floats(0, 1))
def test_delays_grow_to_a_limit_and_chance_takes_at_most_half(attempt: int, chance: float) -> None:
    full = delay_ns(attempt, 0.0)
    assert full / 2 - 1 <= delay_ns(attempt, chance) <= full <= MOST_NS
    assert full <= delay_ns(attempt + 1, 0.0)


def test_the_first_attempt_is_made_at_once() -> None:
    assert [delay_ns(attempt, 0.0) for attempt in range(3)] == [0, FIRST_NS, 2 * FIRST_NS]


def asked(ledger: Ledger) -> int:
    """The id of a request that was sent."""
    number = ledger.next_id()
    ledger.expect(number)
    return number


def settle(ledger: Ledger, *bodies: bytes) -> None:
    for body in bodies:
        assert list(ledger.settle(body)) == []


def test_an_answer_is_given_once_to_who_asked() -> None:
    ledger = Ledger()
    first, second = asked(ledger), asked(ledger)
    assert list(ledger.settle(encode(Done(id=second)))) == []
    assert ledger.take_answer(first) is None
    assert ledger.take_answer(second) == Done(id=second)
    assert ledger.take_answer(second) is None


def test_an_answer_that_nobody_waits_for_is_dropped() -> None:
    ledger = Ledger()
    number = asked(ledger)
    ledger.forget_request(number)
    assert list(ledger.settle(encode(Done(id=number)))) == []
    assert ledger.take_answer(number) is None


@pytest.mark.parametrize("is_answered_before", [False, True])
def test_what_is_given_to_a_forgotten_request_is_given_back(is_answered_before: bool) -> None:
    ledger = Ledger()
    answers: list[Answer] = [
        Advertised(id=asked(ledger), flow=3, topic=0, credit=1),
        Subscribed(id=asked(ledger), subscription=5),
        Done(id=asked(ledger)),
    ]
    bodies = [encode(answer) for answer in answers]
    if is_answered_before:
        settle(ledger, *bodies)
    for answer in answers:
        ledger.forget_request(answer.id)
    if not is_answered_before:
        assert ledger.take_undo() == []
        settle(ledger, *bodies)
    flow, subscription = ledger.take_undo()
    assert isinstance(flow, Unadvertise)
    assert isinstance(subscription, Unsubscribe)
    assert (flow.flow, subscription.subscription) == (3, 5)
    settle(ledger, *bodies)
    assert ledger.take_undo() == []


def test_nothing_is_given_back_on_another_connection() -> None:
    ledger = Ledger()
    number = asked(ledger)
    ledger.forget_request(number)
    ledger.fail_requests(Closed("gone"))
    settle(ledger, encode(Advertised(id=number, flow=3, topic=0, credit=1)))
    assert ledger.take_undo() == []


def test_a_refusal_is_raised_as_the_exception_that_it_names() -> None:
    ledger = Ledger()
    number = asked(ledger)
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
    before = asked(ledger)
    ledger.fail_requests(Closed("gone"))
    after = asked(ledger)
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
    assert reply_topic("ward/3+#") == "_reply/ward_s3_p_h"


@given(st.text(), st.text())
@example("w/3", "w_3")
@example("w_s3", "w/3")
def test_two_clients_never_share_a_reply_topic(one: str, other: str) -> None:
    assert (reply_topic(one) == reply_topic(other)) == (one == other)
    assert is_reply_topic(reply_topic(one))


@pytest.mark.parametrize(
    "topic", ["ward/3/alarm", "_reply/a/b", "_reply/+", "_reply/#", "_replyx", "a/_reply/b"]
)
def test_a_server_answers_on_reply_topics_only(topic: str) -> None:
    assert not is_reply_topic(topic)


def test_two_exchanges_of_one_client_do_not_count_alike() -> None:
    numbers = {Exchange("_reply/a").ask()[0] for _ in range(20)}
    assert len(numbers) == 20


@pytest.mark.parametrize(("now_ns", "next_ns"), [(100, 200), (150, 200), (200, 300), (999, 1000)])
def test_periods_in_which_nobody_asked_are_skipped(now_ns: int, next_ns: int) -> None:
    periods = Periods(100, 0)
    assert periods.next_ns == 100
    periods.pass_by(now_ns)
    assert periods.next_ns == next_ns


def test_a_report_of_nothing_says_so() -> None:
    empty = report("a/+", [])
    assert str(empty) == "a/+: no messages"
    assert (empty.messages, empty.lost, empty.late) == (0, 0, 0)
    with pytest.raises(KeyError):
        empty["a/1"]
