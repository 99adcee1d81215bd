"""The example of the loop: who is told what links take earns more, and a burst that was measured passes."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "loop.py"


@pytest.fixture(scope="module")
def loop() -> ModuleType:
    """The example as a module."""
    spec = importlib.util.spec_from_file_location("loop", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_schedule_follows_a_link_that_becomes_slow(loop: ModuleType) -> None:
    (_, *before), (_, *change), (_, *after) = loop.phases(3, 10)
    assert min(before) > 0.99, "nothing is late while links are quick"
    assert change[1] < 0.9, "the model of the phase before is wrong"
    assert after[1] > after[0] + 0.03, "83 against 74 per cent where this was written"


def test_a_burst_that_was_measured_is_let_through_and_later_promises_reckon_with_it(loop: ModuleType) -> None:
    ((policed, tightest_ns), (policed_then, tightest_then_ns)), verdict = loop.live()
    assert verdict.decision == "applied", verdict.reason
    assert policed >= 10
    assert policed_then < policed / 2
    assert tightest_then_ns > tightest_ns
