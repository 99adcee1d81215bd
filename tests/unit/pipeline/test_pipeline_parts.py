"""Parts of a stream: few of them, however long it runs."""

from __future__ import annotations

import math
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from giusto.pipeline.streaming.parts import (
    TOGETHER,
    bundle_name,
    bundled,
    name_of,
    remove_others,
    to_bundle,
)


@given(st.integers(1, 2_000))
def test_the_number_of_parts_grows_with_the_logarithm(batches: int) -> None:
    parts: tuple[str, ...] = ()
    members = {}
    for batch in range(batches):
        part = name_of(0, batch, "t")
        parts, members[part] = (*parts, part), {batch}
        some = to_bundle(parts)
        while some:
            bundle = bundle_name(some, "t")
            members[bundle] = set().union(*(members[part] for part in some))
            parts = bundled(parts, some, bundle)
            some = to_bundle(parts)
    assert sorted(batch for part in parts for batch in members[part]) == list(range(batches))
    levels = 1 + math.ceil(math.log(batches + 1, TOGETHER))
    assert len(parts) <= TOGETHER * levels


def test_what_no_state_knows_is_removed(tmp_path: Path) -> None:
    for name in ("0-000000001", "0-000000002", "1-000000002"):
        (tmp_path / name / "losses").mkdir(parents=True)
    remove_others(tmp_path, ["1-000000002"])
    remove_others(tmp_path / "nowhere", [])
    assert [path.name for path in tmp_path.iterdir()] == ["1-000000002"]
