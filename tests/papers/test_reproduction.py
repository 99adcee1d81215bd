"""Small runs of every paper come out as claimed, and the page says what the kept results say."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

from giusto.papers import Paper, Size, found, run
from giusto.papers.page import page
from giusto.papers.parameters import once, parameters
from giusto.pipeline.cases import made

ROOT = Path(__file__).parents[2]
PAPERS = {paper.key: paper for paper in found()}
each_paper = pytest.mark.parametrize("paper", PAPERS.values(), ids=PAPERS.keys())


@each_paper
def test_a_small_run_comes_out_as_claimed_and_as_the_full_one_did(paper: Paper, tmp_path: Path) -> None:
    outcome, kept = run(paper, Size.SMALL, out=tmp_path), paper.outcome
    assert [f"{each.claim.id}: {each.ours}" for each in outcome.unexplained] == []
    assert kept is not None, "run `make papers`"
    assert kept.size is Size.FULL
    small = {each.claim.id: each.verdict for each in outcome.judgements if each.claim.is_tried(Size.SMALL)}
    full = {each.claim.id: each.verdict for each in kept.judgements}
    assert small
    assert small == {name: full.get(name, "not kept: run `make papers`") for name in small}
    drawn = {path.stem for path in outcome.files if path.suffix == ".png"}
    assert drawn == {figure.name for figure in paper.sheet.figures}


@each_paper
def test_a_single_run_works_with_its_defaults(paper: Paper) -> None:
    if parameters(paper.code.once):
        assert once(paper)


@each_paper
def test_every_parameter_of_a_single_run_can_be_swept(paper: Paper) -> None:
    given = {each.name: each.default for each in parameters(paper.code.once)}
    assert given
    assert list(made([{"paper": paper.key, **given}])) == [{"paper": paper.key, **given}]


def test_the_page_says_what_was_kept() -> None:
    runs = [(paper, paper.outcome) for paper in PAPERS.values()]
    written = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
    assert page([(paper, kept) for paper, kept in runs if kept is not None]) == written, "run `make papers`"


@each_paper
def test_a_paper_uses_the_public_interface_alone(paper: Paper) -> None:
    allowed = {"giusto", "matplotlib", *sys.stdlib_module_names}
    for file in sorted(paper.folder.rglob("*.py")):
        for name in imported(file):
            assert name.split(".")[0] in allowed, f"{file.name} imports {name}"
            assert not any(part.startswith("_") for part in name.split(".")[1:]), f"{file.name}: {name}"


def imported(file: Path) -> list[str]:
    """What a module imports from elsewhere, with full names."""
    names: list[str] = []
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names += [f"{node.module}.{alias.name}" for alias in node.names if node.module != "__future__"]
    return names
