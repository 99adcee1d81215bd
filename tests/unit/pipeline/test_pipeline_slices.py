"""Which rows of a stream are settled: whatever comes in whatever order, every row goes one way, once."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from giusto.pipeline.streaming.slices import IDLE_S, LATE, Group, State, step
from giusto.pipeline.tables.bronze import LONGEST_NS
from giusto.pipeline.tables.table import SLICE_NS

DELAY_NS = SLICE_NS

groups = st.builds(
    lambda run, number, reason, rows: (run, number, reason, rows),
    st.sampled_from(["", "a", "b"]),
    st.integers(0, 12),
    st.sampled_from([None, None, None, "order"]),
    st.integers(1, 50),
)
courses = st.lists(st.tuples(st.lists(groups, max_size=5), st.floats(0, 2 * IDLE_S)), max_size=12)


def group(run: str, number: int, reason: str | None, rows: int, file: str = "f") -> Group:
    return Group(file, run, number, reason, rows, number * SLICE_NS + SLICE_NS // 2)


@given(courses)
def test_every_row_is_settled_or_waits_or_is_left_out_and_no_slice_is_settled_twice(course: list) -> None:
    state, now_s, settled_rows = State(), 0.0, 0
    done: set[tuple[str, int]] = set()
    for batch, (brought, passed_s) in enumerate(course):
        now_s += passed_s
        came = [group(*each, file=f"f{batch}") for each in brought]
        made = step(state, batch, came, DELAY_NS, now_s)
        for run, (first, until) in made.settles.items():
            assert first == state.settled.get(run, 0) < until
            slices = {(run, number) for number in range(first, until)}
            assert not slices & done
            done |= slices
        waited = state.pending_rows + sum(each.rows for each in came)
        left_out = sum(made.state.quarantined.values()) - sum(state.quarantined.values())
        settled_rows += waited - left_out - made.state.pending_rows
        state = made.state
        assert state.records == settled_rows + state.pending_rows + sum(state.quarantined.values())
        assert not {(run, number) for run in state.waiting for number in state.waiting[run]} & done
        # A file stays for as long as rows of it wait, and leaves once.
        assert set(state.files).isdisjoint(state.leaving)
        assert {run for last in state.files.values() for run in last} >= set(state.waiting)
        assert State.from_dict(json.loads(json.dumps(state.to_dict()))) == state


def test_a_slice_ends_when_the_newest_row_is_later_than_its_end_by_the_delay() -> None:
    first = step(State(), 0, [group("a", 0, None, 3), group("a", 1, None, 2)], DELAY_NS, 0.0)
    assert first.settles == {}
    second = step(first.state, 1, [group("a", 2, None, 1)], DELAY_NS, 1.0)
    assert second.settles == {"a": (0, 1)}
    assert second.state.waiting == {"a": {1: 2, 2: 1}}


def test_what_comes_for_a_slice_that_is_settled_is_late_in_its_own_run_alone() -> None:
    before = State(settled={"a": 5})
    made = step(before, 0, [group("a", 4, None, 7), group("b", 4, None, 2)], DELAY_NS, 0.0)
    assert made.state.quarantined == {LATE: 7}
    assert made.state.waiting == {"b": {4: 2}}
    assert made.bad == ("f",)


def test_a_run_of_which_nothing_comes_any_more_is_settled_when_something_else_comes() -> None:
    first = step(State(), 0, [group("a", 3, None, 7)], DELAY_NS, 0.0)
    second = step(first.state, 1, [group("b", 0, None, 1, "g")], DELAY_NS, IDLE_S)
    assert second.settles == {"a": (0, 4)}
    assert (second.state.leaving, set(second.state.files)) == (("f",), {"g"})
    third = step(second.state, 2, [group("b", 0, None, 1, "h")], DELAY_NS, IDLE_S)
    assert (third.state.gone, third.state.leaving) == (("f",), ())


def test_a_file_without_a_good_row_leaves_at_once() -> None:
    made = step(State(), 0, [group("a", 0, "order", 2)], DELAY_NS, 0.0)
    assert (made.came, made.state.files, made.state.leaving) == (("f",), {}, ("f",))


def test_a_row_far_ahead_of_its_run_waits_and_ends_nothing() -> None:
    far = LONGEST_NS // SLICE_NS + 100
    first = step(State(), 0, [group("a", 0, None, 5), group("a", far, None, 1)], DELAY_NS, 0.0)
    assert first.settles == {}
    second = step(first.state, 1, [group("a", 3, None, 5, "g")], DELAY_NS, 1.0)
    assert (second.settles, second.state.quarantined) == ({"a": (0, 2)}, {})
    # Silence ends the slices that were believed, and not those before the one that is far ahead.
    third = step(second.state, 2, [group("b", 0, None, 1, "h")], DELAY_NS, 1.0 + IDLE_S)
    assert third.settles == {"a": (2, 4)}
    assert third.state.waiting["a"] == {far: 1}
    assert State.from_dict(json.loads(json.dumps(third.state.to_dict()))) == third.state


def test_a_run_that_was_silent_for_days_goes_on_when_a_second_file_says_so() -> None:
    far = LONGEST_NS // SLICE_NS + 100
    first = step(State(), 0, [group("a", 0, None, 5)], DELAY_NS, 0.0)
    second = step(first.state, 1, [group("a", far, None, 5, "g"), group("a", far + 1, None, 5, "g")], 0, 1.0)
    assert second.settles == {}
    third = step(second.state, 2, [group("a", far + 2, None, 5, "h")], DELAY_NS, 2.0)
    assert third.settles == {"a": (0, far + 1)}
    assert third.state.quarantined == third.state.far_ns == {}
