"""The pages on guarantees are true: examples run, and every erratum has the test that it names."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_the_examples_of_the_reference_run() -> None:
    page = ROOT / "docs" / "reference" / "guarantees.md"
    result = doctest.testfile(str(page), module_relative=False, encoding="utf-8")
    assert result.attempted > 30
    assert result.failed == 0


def test_every_erratum_names_a_test_and_every_test_is_named() -> None:
    sources = (ROOT / "tests" / "property").glob("test_bounds_errata_*.py")
    written = {
        name for path in sources for name in re.findall(r"def (test_errata_\w+)", path.read_text("utf-8"))
    }
    named = set(re.findall(r"`(test_errata_\w+)`", (ROOT / "docs" / "errata.md").read_text("utf-8")))
    assert named == written
    assert len(written) >= 28
