"""Every dependency is a decision that someone wrote down."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rules import decisions

ROOT = Path(__file__).parents[2]
Plant = Callable[[dict[str, str]], Path]


def test_every_dependency_has_its_line() -> None:
    assert decisions.undecided(ROOT) == []


def test_a_dependency_without_a_line_is_found(plant: Plant) -> None:
    root = plant(
        {
            "crates/giusto-core/Cargo.toml": '[dependencies]\nlibm = "1"\nserde = "1"\ngiusto-x = "1"\n',
            "pyproject.toml": '[project]\ndependencies = ["rich>=13"]\n'
            "[project.optional-dependencies]\ndev = [\"attrs[all] ; python_version > '3'\"]\n",
            "docs/decisions.md": "| dependency | why |\n|---|---|\n| `libm`, `rich` | `serde` |\n",
        }
    )
    assert decisions.undecided(root) == [
        "attrs has no line in docs/decisions.md",
        "serde has no line in docs/decisions.md",
    ]
