"""The search behind `make fuzz`: it climbs from what it reached, and says which input broke a promise."""

from __future__ import annotations

import importlib.util
import random
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[2] / "fuzz" / "guided.py"


@pytest.fixture(scope="module")
def guided() -> ModuleType:
    spec = importlib.util.spec_from_file_location("guided", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def nested(prepared: None, data: bytes) -> list[str]:
    """Breaks on four bytes that chance alone would hardly find together."""
    if data[:1] == b"\xff":
        if data[1:2] == b"G":
            if data[2:3] == b"\x80":
                if data[3:4] == b"W":
                    raise KeyError("found")
                return []
            return []
        return []
    return []


def search(guided: ModuleType, target: object, watched: str) -> Any:
    made = guided.Search(lambda: None, target, (watched,), guided.change_bytes, random.Random(7))
    made.take_in([b"aaaa"])
    return made


def breaks(guided: ModuleType, watched: str, steps: int) -> bytes | None:
    """The input that broke the promise within so many steps."""
    climbing = search(guided, nested, watched)
    try:
        for _ in range(steps):
            climbing.step()
    except guided.Broken as broken:
        return bytes(broken.data)
    return None


def test_the_search_climbs_by_the_lines_that_it_reaches(guided: ModuleType) -> None:
    found = breaks(guided, __file__, 200_000)
    assert found is not None
    assert found.startswith(b"\xffG\x80W")
    assert breaks(guided, "no such file", 50_000) is None


def test_an_answer_counts_as_something_reached(guided: ModuleType) -> None:
    climbing = search(guided, lambda _, data: [len(data)], "no such file")
    found = [data for _ in range(1000) if (data := climbing.step()) is not None]
    assert len({len(data) for data in found}) == len(found) > 3


def test_the_failure_is_the_cause_of_what_is_reported(guided: ModuleType) -> None:
    with pytest.raises(guided.Broken) as broken:
        guided.Search(lambda: None, nested, (), guided.change_bytes, random.Random(1)).take_in(
            [b"\xffG\x80W"]
        )
    assert isinstance(broken.value.__cause__, KeyError)
