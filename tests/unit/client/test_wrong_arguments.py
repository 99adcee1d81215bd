"""What was meant otherwise is refused at once, by its name."""

from __future__ import annotations

import pydoc
from collections.abc import Callable
from typing import Any

import pytest

import giusto
from giusto import Need, Offer
from giusto.errors import InvalidInput
from giusto.testing import MemoryBus


class Plain:
    """No payload: nothing says what it consists of."""


WRONG: dict[str, Callable[[Any], object]] = {
    "need": lambda bus: bus.subscribe("a", "5ms"),
    "pattern": lambda bus: bus.subscribe(5),
    "filter": lambda bus: bus.subscribe("a", filter=5),
    "overflow": lambda bus: bus.subscribe("a", overflow=5),
    "queue": lambda bus: bus.subscribe("a", queue="many"),
    "offer": lambda bus: bus.advertise("a", Need()),
    "topic": lambda bus: bus.advertise(5),
    "type": lambda bus: bus.advertise("a", type=Plain),
    "priority": lambda bus: bus.advertise("a").publish(b"", priority="high"),
    "attributes": lambda bus: bus.advertise("a").publish(b"", attributes=5),
    "name": lambda bus: bus.connect(name=""),
    "address": lambda bus: giusto.connect(7447),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("field", WRONG)
def test_an_argument_of_another_kind_is_named(field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        WRONG[field](MemoryBus())
    assert caught.value.field == field


@pytest.mark.parametrize("priority", [-1, 8, 1.5, None])
def test_a_priority_is_a_whole_number_from_0_to_7(priority: Any) -> None:
    with pytest.raises(InvalidInput, match="from 0 to 7"):
        MemoryBus().advertise("a").publish(b"", priority=priority)


@pytest.mark.parametrize("timeout", ["soon", -1, "-1s", "5"])
def test_a_timeout_is_looked_at_before_it_is_needed(timeout: Any) -> None:
    publisher = MemoryBus().advertise("a")
    for publish in (publisher.publish, publisher.publish_many):
        with pytest.raises(InvalidInput, match="timeout"):
            publish(b"", timeout=timeout)
    assert publisher.published == 0


def test_the_largest_message_that_can_be_offered_can_be_published() -> None:
    bus = MemoryBus()
    subscription, publisher = bus.subscribe("a"), bus.advertise("a", Offer(max_size=2**24 - 56))
    publisher.publish(bytes(2**24 - 56))
    assert len(subscription.receive("1s").payload) == 2**24 - 56


@pytest.mark.parametrize("party", [giusto.Subscription, giusto.Publisher, giusto.aio.Subscription])
def test_help_shows_no_internals(party: type) -> None:
    shown = pydoc.plain(pydoc.render_doc(party))
    for name in ("announce", "drain_into", "set_bound", "describe", "take_many", "figures", "bind", "close"):
        assert f" {name}(" not in shown
