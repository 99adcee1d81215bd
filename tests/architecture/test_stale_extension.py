"""Tests refuse a binary that was not built from the sources beside it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from giusto import _build, _core
from giusto.errors import StaleExtension

RunTests = Callable[..., tuple[int, str]]


def source(tree: Path) -> Path:
    return tree / "crates" / "giusto-core" / "src" / "lib.rs"


def test_the_extension_was_built_from_the_sources_beside_it(tree: Path) -> None:
    _build.require_fresh(tree)


def test_a_changed_source_is_refused(tree: Path) -> None:
    with source(tree).open("a") as file:
        file.write("\n")
    with pytest.raises(StaleExtension, match="make build"):
        _build.require_fresh(tree)


def test_a_source_that_is_new_gone_or_renamed_is_refused(tree: Path) -> None:
    added = source(tree).with_name("added.rs")
    added.write_text("//! New.\n")
    with pytest.raises(StaleExtension):
        _build.require_fresh(tree)
    added.unlink()
    source(tree).rename(source(tree).with_name("other.rs"))
    with pytest.raises(StaleExtension):
        _build.require_fresh(tree)


def test_benchmarks_refuse_a_debug_build(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_core, "PROFILE", "debug")
    with pytest.raises(StaleExtension, match="debug build"):
        _build.require_release()


def test_a_test_run_beside_changed_sources_stops_before_the_first_test(
    tree: Path, run_tests: RunTests
) -> None:
    source(tree).write_text("//! Changed.\n")
    status, output = run_tests("def test_one() -> None:\n    pass\n")
    assert status == pytest.ExitCode.USAGE_ERROR
    assert "was not built from the Rust sources in this tree: run `make build`" in output
    assert "passed" not in output
