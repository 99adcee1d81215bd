"""One version, stated alike in every place that must state it."""

from __future__ import annotations

import tomllib
from pathlib import Path

import giusto

ROOT = Path(__file__).parents[2]


def test_the_version_is_the_same_everywhere() -> None:
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert giusto.__version__ == workspace["version"] == project["version"]
    assert project["license"] == workspace["license"]
