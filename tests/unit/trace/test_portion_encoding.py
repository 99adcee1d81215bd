"""What a ring has kept is the same in a file as in columns, whatever was kept."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from parquet_files import Records, file_by, group_of, plain

from giusto import _core
from giusto.errors import Policed, QueueFull, TooLarge
from giusto.record import to_table

TOPICS = 5
FLOWS = 6
NEEDS = [
    None,
    _core.Need(deadline_ns=40, price=2.5, penalty=1.0, bound_ns=30),
    _core.Need(deadline_ns=7, price=0.0, penalty=0.0),
]
SENDING = st.fixed_dictionaries(
    {
        "flow": st.integers(0, FLOWS - 1),
        "size": st.sampled_from([0, 1, 64, 300, 5_000]),
        "priority": st.integers(0, 7),
        "times": st.sampled_from([1, 2, 7, 8, 9, 130, 300]),
        "meant_ns": st.sampled_from([None, None, 0, 3]),
        "after_ns": st.sampled_from([0, 0, 1, 1_000, 2**60]),
        "turns": st.sampled_from([0, 1, 50, 1_000]),
    }
)
SOME = {"size": 1, "priority": 0, "after_ns": 9, "turns": 50, "meant_ns": None}
GROUPS = st.lists(
    st.lists(st.lists(st.one_of(SENDING, st.just("change")), max_size=6), min_size=1, max_size=3),
    min_size=1,
    max_size=3,
)


@dataclass
class Bus:
    """An engine with publishers that sometimes break their offers, and subscribers that come and go."""

    engine: _core.Engine
    now_ns: int = 0
    sequence: int = 0
    changes: int = 0

    def __post_init__(self) -> None:
        topics = [self.engine.declare(f"topic {number} è") for number in range(TOPICS)]
        self.engine.guard(topics[0], True)
        self.flows = [self.advertised(topics[number % TOPICS], number) for number in range(FLOWS)]
        self.readers = [self.subscribed(need) for need in NEEDS]

    def advertised(self, topic: int, number: int) -> int:
        offer = {"min_sep_ns": 5, "burst": 20} if number % 2 else {}
        client = self.engine.connect(f"publisher {number // 2}/{number}")
        return self.engine.advertise(client, topic, capacity=200, max_size_bytes=2_000, **offer)

    def subscribed(self, need: _core.Need | None) -> int:
        reader = self.engine.connect(f"reader {self.changes} {need is None} {id(need)}")
        self.engine.subscribe(reader, "#", need=need)
        return reader

    def change(self) -> None:
        """Somebody else has the number of a subscriber from now on."""
        self.changes += 1
        place = self.changes % len(NEEDS)
        self.engine.disconnect(self.readers[place])
        self.readers[place] = self.subscribed(NEEDS[self.changes % 2])

    def send(self, sending: dict[str, Any]) -> None:
        for _ in range(sending["times"]):
            self.publish(sending)
        for _ in range(sending["turns"]):
            self.engine.step_guarded(self.now_ns)
            self.engine.step(self.now_ns)
            self.engine.take(self.now_ns, self.readers[self.sequence % len(self.readers)])

    def publish(self, sending: dict[str, Any]) -> None:
        self.now_ns = min(2**62, self.now_ns + sending["after_ns"])
        meant = {} if sending["meant_ns"] is None else {"intended_ns": self.now_ns - sending["meant_ns"]}
        payload, flow = bytes(sending["size"]), self.flows[sending["flow"]]
        options = {"priority": sending["priority"], "sequence": self.sequence, **meant}
        self.sequence += 1
        with suppress(Policed, QueueFull, TooLarge):  # which leaves a record, too
            self.engine.publish(self.now_ns, flow, payload, **options)

    def portions(self, group: list[list[Any]]) -> Iterator[_core.Portion]:
        for steps in group:
            for step in steps:
                self.change() if step == "change" else self.send(step)
            portion = self.engine.drain_portion()
            assert portion is not None
            yield portion


def bus(capacity: int = 10_000) -> Bus:
    return Bus(_core.Engine(record_capacity=capacity, run="run", node="node", output_capacity=64))


@given(GROUPS)
def test_a_file_of_portions_says_what_their_columns_say(groups: list[list[list[Any]]]) -> None:
    encoder, live = _core.RecordEncoder(), bus()
    files = [[list(live.portions(group)) for group in groups] for _ in range(2)]
    for portions in files:
        found = pq.read_table(file_by(encoder, portions))
        expected = to_table(portion.batch() for group in portions for portion in group)
        assert plain(found) == plain(expected).combine_chunks()


def test_portions_and_batches_can_be_in_one_group() -> None:
    sending = {**SOME, "flow": 0, "times": 9}
    live = bus()
    for meant in (None, 3):
        steps = [[sending], [{**sending, "meant_ns": meant}]]
        first, second, third = [*live.portions(steps), *live.portions(steps[:1])]
        mixed: list[Records] = [first, second.batch(), third]
        found = plain(pq.read_table(file_by(_core.RecordEncoder(), [mixed])))
        assert found == plain(to_table([first.batch(), second.batch(), third.batch()])).combine_chunks()


def test_what_is_forgotten_is_in_no_file() -> None:
    sending = {**SOME, "flow": 1, "times": 3, "meant_ns": 1}
    live, encoder = bus(), _core.RecordEncoder()
    first, second, third = live.portions([[sending], ["change", sending], [sending]])
    group_of(encoder, [first])
    encoder.add(second)
    encoder.clear()
    assert (encoder.rows, encoder.waiting, encoder.span) == (0, 0, None)
    assert plain(pq.read_table(file_by(encoder, [[third]]))) == plain(to_table([third.batch()]))


def test_a_portion_counts_what_found_no_room() -> None:
    live = bus(capacity=4)
    sending = {**SOME, "flow": 0, "size": 9_000, "times": 7}
    (portion,) = live.portions([[sending]])
    assert (len(portion), portion.dropped, portion.skipped) == (4, 3, 0)


def test_only_records_can_be_encoded() -> None:
    with pytest.raises(TypeError, match="a Batch or a Portion"):
        _core.RecordEncoder().add([])  # type: ignore[arg-type]
