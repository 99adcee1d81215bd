"""A small paper of its own, in a folder of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

CLAIMS = """
[paper]
title = "Small"
authors = "Nobody"
source = "S9"
about = "For tests."
[[claim]]
id = "right"
place = "Fig. 1"
what = "a number"
published = 3
[[claim]]
id = "wrong"
place = "Fig. 1"
what = "another | number"
published = 3
REASON
[[claim]]
id = "true"
corrects = "wrong"
place = "(X1)"
what = "what it really is"
published = 4
[[figure]]
name = "line"
place = "Fig. 1"
caption = "A line."
"""
CODE = '''"""A paper."""
from typing import Annotated, Literal
from giusto.papers import Code, Findings, Table, drawing

def measure(trial):
    rows = [(n, n * n) for n in trial.each(range(trial.pick(small=3, full=30)))]
    return Findings({"right": 3, "wrong": 4, "true": 4}, {"line": Table(("x", "y"), rows)})

def other(trial):
    return Findings({})

def draw(tables):
    figure, (axes,) = drawing.canvas()
    axes.plot(tables["line"].column("x"), tables["line"].column("y"), label="ours")
    drawing.published_level(axes, 4, "published")
    drawing.label(axes, title="Line", x="x in m", y="y in m")
    return figure

def once(
    *,
    policy: Annotated[Literal["fifo", "lrt"], "How to choose."] = "fifo",
    rate: Annotated[float, "How often."] = 1.0,
    seed: Annotated[int, "All draws."] = 0,
    strict: bool = False,
):
    return {"policy": policy, "rate": rate, "seed": seed, "strict": strict}

CODE = Code({"lines": measure, "nothing": other}, {"line": draw}, once)
'''


@pytest.fixture
def papers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of papers with one paper, `small`, whose failing claim has a reason."""
    folder = tmp_path / "some papers"
    (folder / "small").mkdir(parents=True)
    (folder / "small" / "claims.toml").write_text(CLAIMS.replace("REASON", 'reason = "misprint"'))
    (folder / "small" / "__init__.py").write_text(CODE)
    monkeypatch.setenv("GIUSTO_PAPERS", str(folder))
    return folder
