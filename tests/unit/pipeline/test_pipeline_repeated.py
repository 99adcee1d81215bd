"""What hashes of rows weigh together, counted outside Spark."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from giusto.pipeline.tables.repeated import KIND_BITS, SAMPLED, SINGLE, weighed

# Few, so that they meet; others are among those that are looked at in any case.
HASHES = st.integers(-3, 3) | st.integers(-2, 2).map(lambda n: n * SAMPLED) | st.integers(-(2**61), 2**61 - 1)


@given(st.lists(st.tuples(HASHES, st.integers(0, 2))))
def test_rows_of_one_hash_weigh_together_and_those_alone_are_left_out_but_for_a_sample(
    rows: list[tuple[int, int]],
) -> None:
    wanted: Counter[int] = Counter()
    for number, kind in rows:
        wanted[number] += 2 + 3 * kind
    found = weighed(np.array([(number << KIND_BITS) + kind for number, kind in rows], dtype=np.int64))
    assert dict(zip(*found.to_pydict().values(), strict=True)) == {
        number: weight for number, weight in wanted.items() if weight not in SINGLE or number % SAMPLED == 0
    }
