"""How a soak judges: which misses stalls explain, and which are ours."""

from __future__ import annotations

from benchmarks.soak.judge import Contract, Observed, Peak, Row, judge
from benchmarks.soak.stalls import Stall, Stalls
from hypothesis import given
from hypothesis import strategies as st

CONTRACT = Contract(
    subscriber="s", topic="t", publishers=("p",), promise_ns=120, bound_ns=100, broker_bound_ns=80
)


def row(
    misses: list[tuple[int, int]], stalls: list[tuple[str, Stall]], peaks: list[Peak] | None = None
) -> Row:
    longest = max((end - start for start, end in misses), default=0)
    observed = Observed(messages=9, p50_ns=10, p99_ns=20, max_ns=longest, misses=misses)
    return judge(CONTRACT, observed, peaks or [], stalls)


def test_a_miss_without_a_stall_is_ours() -> None:
    found = row([(1_000, 1_150)], [])
    assert (found.explained, found.ours, found.ratio) == (0, 1, 1.5)


def test_a_stall_in_the_life_of_a_message_that_is_long_enough_explains_its_miss() -> None:
    assert row([(1_000, 1_150)], [("machine", Stall(1_020, 1_070, 50))]).explained == 1
    assert row([(1_000, 1_150)], [("machine", Stall(1_020, 1_069, 49))]).ours == 1


def test_a_stall_before_or_after_it_does_not() -> None:
    stalls = [("machine", Stall(800, 999, 199)), ("machine", Stall(1_151, 1_300, 149))]
    assert row([(1_000, 1_150)], stalls).ours == 1


def test_a_stall_also_explains_the_miss_of_what_came_while_its_victim_was_on_its_way() -> None:
    misses, stalls = [(1_000, 1_250), (1_200, 1_320)], [("machine", Stall(1_010, 1_160, 150))]
    assert row(misses, stalls).explained == 2
    assert row(misses[1:], stalls).ours == 1
    assert row([(1_000, 1_250), (1_251, 1_371)], stalls).ours == 1


def test_only_those_on_the_way_of_a_message_can_excuse_it() -> None:
    for who, explained in (("p", 1), ("s", 1), ("broker", 1), ("somebody else", 0)):
        assert row([(1_000, 1_150)], [(who, Stall(1_000, 1_100, 60))]).explained == explained


def test_the_way_through_the_broker_has_a_bound_of_its_own_that_programs_cannot_excuse() -> None:
    peak = [Peak(1_000, 2_000, 90)]
    assert row([], [], peak).ours == 1
    assert row([], [("s", Stall(1_100, 1_200, 100))], peak).ours == 1
    assert row([], [("broker", Stall(1_100, 1_200, 100))], peak).explained == 1
    assert row([], [], [Peak(1_000, 2_000, 80)]).broker_ratio == 1.0


STALLS = st.lists(
    st.tuples(st.integers(0, 500), st.integers(1, 60), st.integers(0, 60)).map(
        lambda drawn: Stall(drawn[0], drawn[0] + drawn[1], min(drawn[1], drawn[2]))
    ),
    max_size=30,
)


@given(STALLS, st.integers(0, 500), st.integers(0, 200))
def test_overlapping_stalls_never_excuse_more_than_all_of_them_or_than_the_time_that_passed(
    seen: list[Stall], start_ns: int, length_ns: int
) -> None:
    stalls = Stalls(seen)
    assert all(one.ns <= one.end_ns - one.start_ns for one in stalls.merged)
    assert stalls.within(start_ns, start_ns + length_ns) <= sum(one.ns for one in seen)
    gaps = [(a.end_ns, b.start_ns) for a, b in zip(stalls.merged, stalls.merged[1:], strict=False)]
    assert all(end < start for end, start in gaps)
