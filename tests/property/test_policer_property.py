"""The policer against a bucket of exact fractions, over long runs."""

from __future__ import annotations

import random
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from giusto import _core


def reference(rate: Fraction, full: Fraction, times: list[int]) -> list[bool]:
    """A level that rises with time, as the textbook has it."""
    level, last, decisions = full, times[0], []
    for now in times:
        level = min(full, level + rate * (now - last))
        last = now
        decisions.append(level >= 1)
        level -= decisions[-1]
    return decisions


@settings(max_examples=2, deadline=None)
@given(
    count=st.integers(1, 10**7),
    period_ns=st.integers(1, 10**10),
    burst=st.fractions(1, 5, max_denominator=1000),
    jitter=st.fractions(0, 3),
    seed=st.integers(0, 2**32),
)
def test_a_hundred_thousand_messages_without_drift(
    count: int, period_ns: int, burst: Fraction, jitter: Fraction, seed: int
) -> None:
    rate, jitter_ns = Fraction(count, period_ns), int(jitter * period_ns / count)
    step = 1 + 2 * period_ns // count
    generator, now, times = random.Random(seed), 0, []
    for _ in range(100_000):
        now += generator.randrange(step)
        times.append(now)
    policer = _core.Policer(count=count, period_ns=period_ns, burst=burst, jitter_ns=jitter_ns)
    assert policer.installed_burst == burst + jitter_ns * rate
    assert [policer.conforms(now) for now in times] == reference(rate, burst + jitter_ns * rate, times)
