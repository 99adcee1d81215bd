"""Small trees, on which each rule must find what it is there to find."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
Plant = Callable[[dict[str, str]], Path]
RunTests = Callable[..., tuple[int, str]]


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


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of all that the digest of the extension looks at."""
    shutil.copy(ROOT / "Cargo.toml", tmp_path)
    shutil.copytree(ROOT / "crates", tmp_path / "crates")
    return tmp_path


@pytest.fixture
def run_tests(tree: Path) -> RunTests:
    """Runs one module of tests in `tree` with our conftest.py; returns the exit status and the output."""
    (tree / "tests").mkdir()
    shutil.copy(ROOT / "tests" / "conftest.py", tree / "tests")

    def run(code: str, *options: str, **settings: str) -> tuple[int, str]:
        (tree / "tests" / "test_one.py").write_text(code)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-s", "tests", *options],
            cwd=tree,
            env={**environment, **settings},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr

    return run
