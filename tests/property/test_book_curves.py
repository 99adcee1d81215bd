"""The curves that a book tests promises against are never below the exact functions."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from math import gcd

from hypothesis import assume, given
from hypothesis import strategies as st

from giusto.guarantee import fair, polling, smooth, table, twrr
from giusto.guarantee.blocking import Reader
from giusto.guarantee.fixed import ONE, of
from giusto.guarantee.pace import Pace
from giusto.guarantee.stages.fair import TICKS, Virtual
from giusto.guarantee.stages.smooth import Places, positions
from giusto.guarantee.stages.twrr import Cells, Cycle

QUANTUM_NS = 7
weights = st.lists(st.integers(1, 12), min_size=1, max_size=6)
publishers = st.integers(1, 3)


@st.composite
def topics(draw: st.DrawFn) -> tuple[list[int], list[int], int]:
    """Weights, publishers, and one of the topics."""
    given_weights = draw(weights)
    sizes = draw(st.lists(publishers, min_size=len(given_weights), max_size=len(given_weights)))
    return given_weights, sizes, draw(st.integers(0, len(given_weights) - 1))


def cycle(given_weights: list[int], sizes: list[int], topic: int, divisor: int | None = None) -> Cycle:
    """As a book would have it."""
    sums: Counter[int] = Counter()
    for weight, size in zip(given_weights, sizes, strict=True):
        sums[weight] += size * QUANTUM_NS
    return Cycle(given_weights[topic], Cells(divisor or gcd(*given_weights), sums, 0))


@given(topics(), st.integers(1, 40))
def test_twrr_is_never_below_the_exact_completion(case: tuple[list[int], list[int], int], n: int) -> None:
    given_weights, sizes, topic = case
    exact = twrr.completion(given_weights, sizes, topic, n, QUANTUM_NS)
    assert cycle(given_weights, sizes, topic).work_ns(n) >= exact


@given(topics(), st.integers(1, 40))
def test_twrr_is_exact_for_weights_that_do_not_increase(
    case: tuple[list[int], list[int], int], n: int
) -> None:
    given_weights, sizes, topic = sorted(case[0], reverse=True), case[1], case[2]
    exact = twrr.completion(given_weights, sizes, topic, n, QUANTUM_NS)
    assert cycle(given_weights, sizes, topic).work_ns(n) == exact


@given(topics(), st.integers(1, 40))
def test_a_topic_that_makes_the_common_divisor_smaller_never_makes_twrr_faster(
    case: tuple[list[int], list[int], int], n: int
) -> None:
    reduced, whole = cycle(*case), cycle(*case, divisor=1)
    assert whole.work_ns(n) >= reduced.work_ns(n)


@given(topics(), st.integers(1, 60))
def test_the_line_of_twrr_is_never_below_its_curve_and_has_its_slope(
    case: tuple[list[int], list[int], int], n: int
) -> None:
    found = cycle(*case)
    assert found.line_ns(n) >= found.work_ns(n)
    assert found.line_ns(n + found.own) == found.line_ns(n) + found.cycle_ns
    assert found.work_ns(n + found.own) == found.work_ns(n) + found.cycle_ns


@given(topics(), st.integers(1, 40))
def test_smooth_is_exact(case: tuple[list[int], list[int], int], n: int) -> None:
    given_weights, sizes, topic = case
    order, cells = positions(tuple(given_weights))
    assert list(order) == smooth.cells(given_weights)
    before = [sum(sizes[m] for m in order[:cell]) * QUANTUM_NS for cell in cells[topic]]
    places = Places(before, sum(sizes[m] for m in order) * QUANTUM_NS, 0)
    assert places.work_ns(n) == table.completion(list(order), sizes, topic, n, QUANTUM_NS)
    assert places.line_ns(n) >= places.work_ns(n)


@given(
    st.lists(st.integers(1, 20), min_size=1, max_size=6), st.integers(1, 40), st.integers(0, 20), st.data()
)
def test_fair_is_never_below_the_exact_completion_and_at_most_a_quantum_above(
    rates: list[int], j: int, part: int, data: st.DataObject
) -> None:
    topic = data.draw(st.integers(0, len(rates) - 1))
    deadline = TICKS // rates[topic] * part // 20
    virtual: list[Fraction | None] = [None] * len(rates)
    virtual[topic] = Fraction(deadline, TICKS)
    found = Virtual(rates[topic], deadline, Counter({r: rates.count(r) * QUANTUM_NS for r in rates}))
    exact = fair.completion(rates, virtual, topic, j, QUANTUM_NS)
    assert exact <= found.work_ns(j) <= found.line_ns(j)
    # Two ticks can bring one more message of each topic, at most.
    assert found.work_ns(j) <= exact + (len(rates) + 1) * QUANTUM_NS


@given(st.integers(1, 10**9), st.integers(0, 9))
def test_load_driven_work_ends_when_it_and_all_that_was_read_meanwhile_is_done(
    work_ns: int, tenth: int
) -> None:
    pace = Pace(tenth * ONE // 10)
    done_ns = pace.time_ns(work_ns)
    assert done_ns == pace.line_ns(work_ns)
    assert done_ns - of(done_ns, pace.reading) in (work_ns, work_ns + 1)


@given(st.integers(1, 10**6), st.integers(0, 99), st.integers(1, 50), st.integers(0, 60))
def test_time_driven_work_ends_at_the_first_instant_that_is_late_enough(
    work_ns: int, hundredth: int, window_ns: int, more_ns: int
) -> None:
    pace = Pace(hundredth * ONE // 100, window_ns + more_ns, window_ns)
    assume(pace.left[0] > 0)
    done_ns = pace.time_ns(work_ns)
    assert done_ns <= pace.line_ns(work_ns)
    assert pace.windows_ns(work_ns + of(done_ns, pace.reading)) <= done_ns
    assert pace.time_ns(work_ns + 1) >= done_ns


@given(st.integers(1, 200), st.integers(1, 30), st.integers(0, 30))
def test_without_reading_the_pace_is_that_of_the_polling_server(n: int, budget: int, more: int) -> None:
    exact = polling.time_to_serve(n, period=budget + more, budget=budget, service=1)
    assert Pace(0, budget + more, budget).time_ns(n) == exact


@given(st.integers(1, 20_000), st.integers(1, 40_000), st.integers(1, 10**7), st.integers(1, 10**6))
def test_nothing_waits_for_longer_in_a_socket_than_the_turns_that_are_counted(
    portion: int, burst: int, bytes_per_ms: int, turn_ns: int
) -> None:
    reader = Reader(portion, burst, bytes_per_ms * ONE // 1_000_000)
    more, rate = reader.more_turns(turn_ns), Fraction(reader.rate, ONE)
    if more is None:
        assert rate * turn_ns > reader.portion_bytes - 1
        return
    assert (more == 0) == (turn_ns <= reader.patience_ns)
    for full in range(more + 20):
        # The first byte that so many portions do not reach is read one turn after the last of them.
        came_ns = max(Fraction(0), (full * reader.portion_bytes + 1 - burst) / rate)
        assert (full + 1) * turn_ns - came_ns <= (more + 1) * turn_ns + 1 / rate
