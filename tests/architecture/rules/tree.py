"""Which files a rule looks at: those that git keeps, or would."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

MADE = {".git", ".venv", "target", "site", "dist", "__pycache__", ".hypothesis"}
MADE |= {".pytest_cache", ".mypy_cache", ".ruff_cache"}


def files(root: Path) -> list[Path]:
    """Every file under `root` that is a source, sorted."""
    if (root / ".git").exists():
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        try:
            listed = subprocess.run(command, cwd=root, capture_output=True, check=True).stdout
            named = (root / os.fsdecode(name) for name in listed.split(b"\0") if name)
            return sorted(path for path in named if path.is_file())
        except (OSError, subprocess.CalledProcessError):
            pass  # an archive without git, or no git here: walk instead
    return sorted(walk(root))


def walk(folder: Path) -> Iterator[Path]:
    """Every file below `folder`, without what the tools make."""
    for path in folder.iterdir():
        if path.is_dir():
            if path.name not in MADE:
                yield from walk(path)
        elif path.suffix not in {".so", ".pyd"}:
            yield path


def sources(root: Path) -> list[Path]:
    """The Python and Rust files among `files`."""
    return [path for path in files(root) if path.suffix in {".py", ".rs"}]


def is_test(root: Path, path: Path) -> bool:
    """Whether `path` is there to test, not to be used."""
    return "tests" in path.relative_to(root).parts or path.stem == "tests"
