"""What is left of a publisher or a subscription that was ended, refused, given up or lost: nothing."""

from __future__ import annotations

from typing import Any

import pytest

import giusto
from giusto import _core
from giusto.client import Bus, operation
from giusto.client.operation import Ask, Step
from giusto.protocol import Advertised, AnyRequest, Matched, Unadvertise, encode
from giusto.testing import MemoryBus


def cut(bus: MemoryBus) -> None:
    """Lose the connection without anybody noticing."""
    bus._world.leave(bus._conn)
    bus._native.give_up("cable")


def test_a_publisher_is_closed_before_the_broker_is_asked_to_forget_it() -> None:
    bus = MemoryBus()
    publisher = bus.advertise("a")
    steps = operation.unadvertise(bus._ledger, publisher)
    step = next(steps)
    assert isinstance(step, Ask)
    with pytest.raises(giusto.Closed, match="unadvertise"):
        publisher.publish(b"behind the request")
    request = step.make(id=7)
    assert isinstance(request, Unadvertise)


def test_a_publisher_that_was_ended_is_not_bound_by_a_late_answer() -> None:
    bus = MemoryBus()
    publisher = bus.advertise("a")
    publisher._close()
    publisher._bind(3, 10)
    assert (publisher.flow, publisher.credit) == (None, 0)


def test_ending_a_subscription_twice_ends_nobody_elses() -> None:
    bus = MemoryBus()
    first = bus.subscribe("a")
    first.unsubscribe()
    second = bus.subscribe("b")
    first.unsubscribe()
    bus.advertise("b").publish(b"x")
    assert second.receive("1s").payload == b"x"
    assert first.number is None


def test_ending_a_publisher_twice_ends_nobody_elses() -> None:
    bus = MemoryBus()
    first = bus.advertise("a")
    first.unadvertise()
    second = bus.advertise("a")
    first.unadvertise()
    bus.break_connection()
    subscription = bus.subscribe("a")
    second.publish(b"x", timeout="1s")
    assert subscription.receive("1s").payload == b"x"


def test_a_number_of_a_lost_connection_ends_nothing_on_the_next() -> None:
    bus = MemoryBus()
    subscriptions = [bus.subscribe(pattern) for pattern in "abc"]
    other = bus.connect()
    cut(bus)
    subscriptions[0].unsubscribe()
    assert [len(other.subscribers(topic)) for topic in "abc"] == [0, 1, 1]
    publisher = bus.advertise("a")
    kept = bus.advertise("b")
    cut(bus)
    publisher.unadvertise()
    assert [len(other.publishers(topic)) for topic in "ab"] == [0, 1]
    kept.publish(b"x", timeout="1s")
    assert subscriptions[1].receive("1s").payload == b"x"


def test_the_first_request_after_an_unnoticed_loss_is_carried_out_and_answered() -> None:
    bus = MemoryBus()
    cut(bus)
    publisher = bus.advertise("x")
    subscription = bus.subscribe("x")
    publisher.publish(b"1")
    assert subscription.receive("1s").payload == b"1"
    assert [topic.publishers for topic in bus.status().topics] == [1]


class Impatient(MemoryBus):
    """A bus whose user gives up while the answer is under way."""

    given_up: type[BaseException] | None = None

    def _await_answer(self, number: int, deadline_ns: int) -> object:
        if self.given_up is not None:
            raise self.given_up
        return super()._await_answer(number, deadline_ns)


@pytest.mark.parametrize("call", [lambda bus: bus.advertise("a"), lambda bus: bus.subscribe("a")])
def test_what_was_asked_for_before_an_interrupt_can_be_asked_for_again(call: Any) -> None:
    bus = Impatient()
    bus.given_up = KeyboardInterrupt
    with pytest.raises(KeyboardInterrupt) as interrupt:
        call(bus)
    bus.given_up = None
    bus.clock.advance("1ms")
    other = bus.connect()
    assert (other.publishers("a"), other.subscribers("a")) == ([], [])
    call(bus)
    assert len(other.publishers("a") + other.subscribers("a")) == 1
    assert interrupt.traceback


def test_a_count_that_comes_behind_an_answer_is_kept() -> None:
    bus = MemoryBus()
    publisher = bus.advertise("a")
    ledger = bus._ledger
    number = ledger.next_id()
    ledger.expect(number, publisher)
    for said in (Advertised(id=number, flow=3, topic=0, credit=1), Matched(1, flow=3)):
        list(ledger.settle(encode(said)))
    assert ledger.take_answer(number) is not None
    assert publisher.matched == 1


def test_what_a_client_cannot_read_does_not_lose_what_comes_behind_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    bus = MemoryBus()
    publisher = bus.advertise("a")
    flow = publisher.flow
    unknown = _core.encode_control(b"\x81\xa2op\xa9newnotice")
    bus._native.feed(unknown + _core.encode_control(encode(Matched(4, flow=flow))))
    bus.clock.advance("1ms")
    assert publisher.matched == 4
    assert "cannot read" in caplog.text


class LostAtTheEnd(MemoryBus):
    """Loses the connection again when all is restored, and another thread notes that first."""

    is_lost_again = True

    def _note_restored(self, *restored: Any) -> None:
        super()._note_restored(*restored)
        if self.is_lost_again:
            self.is_lost_again = False
            cut(self)
            loss = self._native.take_loss()
            assert loss is not None
            self._lose(loss)


def test_a_loss_at_the_very_end_of_a_restore_is_repaired() -> None:
    bus = LostAtTheEnd()
    subscription, publisher = bus.subscribe("a"), bus.advertise("a")
    bus.break_connection()
    publisher.publish(b"x", timeout="1s")
    assert subscription.receive("1s").payload == b"x"


class WithoutSockets(MemoryBus):
    """A bus on a machine that has no socket left for a while."""

    failures = 0

    def _do(self, step: Step) -> object:
        if isinstance(step, operation.Open) and self.failures > 0:
            self.failures -= 1
            raise OSError("too many open files")
        return super()._do(step)


def test_an_error_of_the_system_is_another_reason_to_try_again() -> None:
    bus = WithoutSockets()
    bus.failures = 3
    bus.break_connection()
    assert bus.is_connected
    assert bus.failures == 0


def test_an_interrupt_in_a_callback_is_not_swallowed() -> None:
    bus = MemoryBus()
    received: list[bytes] = []

    def stop(message: giusto.Message) -> None:
        received.append(message.payload)
        if message.payload == b"1":
            raise KeyboardInterrupt

    bus.subscribe("a", callback=stop)
    publisher = bus.advertise("a")
    publisher.publish_many([b"1", b"2"])
    with pytest.raises(KeyboardInterrupt):
        bus.clock.advance("1ms")
    bus.clock.advance("1ms")
    assert received == [b"1", b"2"]


def test_a_question_is_made_for_the_connection_that_it_goes_to() -> None:
    made: list[int] = []
    bus = MemoryBus()

    def make(id: int) -> AnyRequest | None:
        made.append(bus._conn)
        return None

    def ask() -> operation.Operation[object]:
        return (yield Ask(make))

    before = bus._conn
    cut(bus)
    assert Bus._run(bus, ask()) is None
    assert made == [bus._conn]
    assert made != [before]
