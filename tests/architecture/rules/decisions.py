"""Whether every dependency has its line in docs/decisions.md."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from rules import rust


def undecided(root: Path) -> list[str]:
    """Direct dependencies that the page does not name."""
    needed = rust_dependencies(root) | python_dependencies(root)
    return [f"{name} has no line in docs/decisions.md" for name in sorted(needed - named(root))]


def rust_dependencies(root: Path) -> set[str]:
    """Foreign crates that our crates depend on."""
    texts = [path.read_text(encoding="utf-8") for path in rust.manifests(root)]
    found = [rust.dependencies(tomllib.loads(text)) for text in texts]
    return {name for names in found for name in names if not name.startswith("giusto-")}


def python_dependencies(root: Path) -> set[str]:
    """Packages that pyproject.toml requires, for any purpose."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project.get("optional-dependencies", {}).values()
    required = [*project["dependencies"], *(one for extra in extras for one in extra)]
    return {re.split(r"[\s\[<>=!~;@]", requirement, maxsplit=1)[0] for requirement in required}


def named(root: Path) -> set[str]:
    """The names in the first column of the page's table."""
    page = (root / "docs" / "decisions.md").read_text(encoding="utf-8")
    first_columns = re.findall(r"^\| (`[^|]*) \|", page, flags=re.MULTILINE)
    return {name for column in first_columns for name in re.findall(r"`([^`]+)`", column)}
