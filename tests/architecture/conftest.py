"""Small synthetic trees, on which each rule must find what it is there to find."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

Plant = Callable[[dict[str, str]], Path]


@pytest.fixture
def plant(tmp_path: Path) -> Plant:
    """Writes files, given as path → text, and returns the root of their tree."""

    def write(files: dict[str, str]) -> Path:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return tmp_path

    return write
