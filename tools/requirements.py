"""Print what pyproject.toml requires: the dependencies of the package and of the extras named."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path


def requirements(project: Path, extras: list[str]) -> list[str]:
    """The requirement strings of `project`, its own first."""
    table = tomllib.loads(project.read_text(encoding="utf-8"))["project"]
    found: list[str] = list(table["dependencies"])
    for extra in extras:
        found += table["optional-dependencies"][extra]
    return found


if __name__ == "__main__":
    print("\n".join(requirements(Path(__file__).parents[1] / "pyproject.toml", sys.argv[1:])))
