"""Buckets of delays: they cover all numbers without a gap, and their middle is less than 1 % off."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from giusto.pipeline.tables.histogram import bucket_of, lower_of, midpoint_of, upper_of

LARGEST = 2**63 - 1
delays = st.one_of(
    st.integers(0, LARGEST),
    st.integers(0, 62).flatmap(lambda bits: st.integers(max(0, 2**bits - 2), 2**bits + 2)),
    st.integers(0, 62).flatmap(lambda bits: st.integers(0, 2**bits)),
)


@given(delays)
def test_a_delay_lies_in_its_bucket_whose_middle_is_near_it(delay: int) -> None:
    bucket = bucket_of(delay)
    assert lower_of(bucket) <= delay <= upper_of(bucket)
    assert abs(midpoint_of(bucket) - delay) * 100 <= delay


@given(st.integers(0, bucket_of(LARGEST) - 1))
def test_a_bucket_ends_where_the_next_begins(bucket: int) -> None:
    assert upper_of(bucket) + 1 == lower_of(bucket + 1)
    assert bucket_of(lower_of(bucket)) == bucket_of(upper_of(bucket)) == bucket


def test_a_delay_below_zero_counts_as_zero() -> None:
    assert bucket_of(-5) == 0
