"""What every bound must do, whatever the numbers: grow with the demand, and stay within its relatives."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from giusto.guarantee import edf, fair, polling, ports, smooth, twrr

counts = st.integers(1, 6)
parts = st.fractions(Fraction(1, 10), Fraction(1), max_denominator=10)


@st.composite
def brokers(draw: st.DrawFn) -> tuple[list[int], list[int], int]:
    weights = draw(st.lists(st.integers(1, 12), min_size=1, max_size=6))
    publishers = draw(st.lists(counts, min_size=len(weights), max_size=len(weights)))
    return weights, publishers, draw(st.integers(0, len(weights) - 1))


@given(brokers(), parts, st.integers(1, 8))
def test_a_larger_burst_a_kept_slot_and_a_search_only_cost(
    broker: tuple[list[int], list[int], int], part: Fraction, burst: int
) -> None:
    rate = twrr.service_rate(*broker, 1) * part
    bound = twrr.response(*broker, burst, rate, 1)
    assert bound <= twrr.response(*broker, burst + 1, rate, 1)
    assert bound <= twrr.response(*broker, burst, rate, 1, search=Fraction(1, 9))
    assert twrr.response(*broker, burst, rate, 1, work_conserving=False) == bound + 1
    assert twrr.response(*broker, burst, rate / 2, 1) <= bound
    assert twrr.response(*broker, burst, rate / 7, 7) == 7 * bound


@given(brokers())
def test_one_more_publisher_or_topic_never_helps(broker: tuple[list[int], list[int], int]) -> None:
    weights, publishers, topic = broker
    for n in (1, 3, 20):
        gap = twrr.gap(weights, publishers, topic, n)
        assert gap <= twrr.gap(weights, [p + 1 for p in publishers], topic, n)
        assert gap < twrr.gap(weights, publishers, topic, n + sum(weights)) or len(weights) == 1


@given(brokers())
def test_both_tables_give_a_cycle_of_the_same_length(broker: tuple[list[int], list[int], int]) -> None:
    weights, publishers, topic = broker
    own = twrr.cells(weights).count(topic)
    assert smooth.gap(weights, publishers, topic, own) == twrr.gap(weights, publishers, topic, own)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=5), parts, st.integers(1, 6), parts)
def test_fair_bounds_are_ordered(rates: list[int], part: Fraction, burst: int, shorter: Fraction) -> None:
    rate = fair.guaranteed_rate(rates, 0, 1) * part
    deadlines = [shorter / rates[0], *[None] * (len(rates) - 1)]
    bound = fair.response(rates, deadlines, 0, burst, rate, 1)
    assert len(rates) + burst - 1 <= bound
    assert bound <= fair.response(rates, None, 0, burst, rate, 1)
    assert bound <= fair.linear_response(rates, deadlines, 0, burst, 1)
    assert fair.priority_response(rates, deadlines, 0, burst, rate, 1) >= burst + len(rates)


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(6, 30), st.integers(3, 40)), min_size=1, max_size=4))
def test_edf_tests_are_ordered_and_scale(tasks: list[tuple[int, int, int]]) -> None:
    feasible = edf.feasible(tasks)
    assert feasible or not edf.feasible_fast(tasks)
    assert (
        edf.feasible([(cost * 3, period * 3, deadline * 3) for cost, period, deadline in tasks]) == feasible
    )
    assert not feasible or edf.feasible(tasks, integer_time=True)
    assert not feasible or edf.feasible([(cost, period, deadline + 1) for cost, period, deadline in tasks])


@given(st.integers(1, 40), st.integers(1, 9), st.integers(0, 9))
def test_polling_time_never_shrinks(n: int, budget: int, idle: int) -> None:
    window = {"period": budget + idle, "budget": budget, "service": 1}
    left = polling.time_to_serve(n, **window)
    assert left < polling.time_to_serve(n + 1, **window)
    assert polling.time_to_serve(n, **window, keeps_window=True) == left - budget + 1


@given(st.lists(st.tuples(counts, st.integers(30, 60), st.integers(0, 20)), min_size=1, max_size=4), counts)
def test_port_waits_grow_with_everything(flows: list[tuple[int, int, int]], blocking: int) -> None:
    own, *others = [ports.Flow(wire, sep, jitter_ns=jitter) for wire, sep, jitter in flows]
    shared = ports.queueing(own, [], others, blocking)
    assert shared <= ports.queueing(own, others, [], blocking)
    assert shared < ports.queueing(own, [], others, blocking + 1)
    assert shared == ports.refined_queueing(own, [], others, blocking)
    assert ports.queueing(own, [], [], blocking) <= shared
