"""The guide is true: its commands and programs run, in the order of the page."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from giusto.cli.app import app

pytestmark = pytest.mark.spark

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "sweeps.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder to work in, whose modules are forgotten later."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    sys.modules.pop("queues", None)


def command(line: str) -> str:
    """What a command prints; it must end well."""
    name, *words = shlex.split(line)
    assert name == "giusto"
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, f"{line}: {done.output}"
    return done.stdout


def test_what_the_guide_shows_works(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed: dict[str, str] = {}
    names: dict[str, object] = {}
    for language, text in BLOCK.findall(GUIDE.read_text("utf-8")):
        if language == "toml":
            (folder / "sweep.toml").write_text(text)
        elif text.startswith("# queues.py"):
            (folder / "queues.py").write_text(text)
        elif language == "python":
            exec(compile(text, GUIDE.name, "exec"), names)
        else:
            printed |= {line: command(line) for line in text.splitlines()}
    assert len(printed) == 5
    asked = next(out for line, out in printed.items() if "sweep show" in line)
    assert re.search(r"^twrr +40 +[\d,]+ ± [\d,]+$", asked, re.MULTILINE)
    assert "40 cases, 0 failed" in capsys.readouterr().out
