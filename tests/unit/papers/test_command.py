"""`giusto paper`, in this process, on a paper that is made for it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from giusto.cli.app import app

pytestmark = pytest.mark.usefixtures("papers")


def giusto(*words: str) -> tuple[int, str, str]:
    """Exit code, output and remarks of `giusto paper …`."""
    done = CliRunner().invoke(app, ["paper", *words])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.stdout, done.stderr


def test_the_papers_are_listed() -> None:
    code, text, _ = giusto("list", "--json")
    assert code == 0
    assert json.loads(text) == [
        {
            "key": "small",
            "title": "Small",
            "claims": 2,
            "corrections": 1,
            "figures": 1,
            "reproduce": None,
            "do_not": None,
            "not_tried": None,
        }
    ]
    assert "small  Small  2       1        –" in giusto("list")[1]


def test_a_run_shows_every_claim_and_writes_what_is_asked_for(tmp_path: Path) -> None:
    code, text, _ = giusto("run", "small", "--out", str(tmp_path / "out"))
    assert code == 0
    assert "does not: misprint" in text
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "line.csv",
        "line.png",
        "results.json",
    ]


def test_experiments_are_announced_once_where_no_bar_can_be_seen() -> None:
    assert giusto("run", "small")[2].splitlines()[:2] == ["small (small): lines", "small (small): nothing"]


def test_a_run_as_json() -> None:
    found = json.loads(giusto("run", "small", "--json")[1])
    assert [each["verdict"] for each in found["claims"]] == ["reproduces", "does not", "reproduces"]


def test_an_option_of_the_paper_makes_a_single_run() -> None:
    code, text, _ = giusto("run", "small", "--policy", "lrt", "--seed", "4", "--json")
    assert (code, json.loads(text)) == (0, {"policy": "lrt", "rate": 1.0, "seed": 4, "strict": False})
    assert "policy  fifo" in giusto("run", "small", "--seed", "0")[1]


def test_the_help_of_a_paper_lists_its_own_options() -> None:
    text = giusto("run", "small", "--help")[1]
    assert "--policy fifo|lrt" in text
    assert "Single run: How often. [default: 1.0]" in " ".join(text.split())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nothing"], "paper = nothing: expected one of small"),
        (["small", "--policy", "mtep"], "--policy = mtep: expected one of fifo, lrt"),
        (["small", "--seed", "1", "--full"], "--full = True: expected no option of a single run beside it"),
        (["small", "--only", "all"], "--only = all: expected one of lines, nothing"),
    ],
)
def test_a_wrong_call_ends_with_2(words: list[str], message: str) -> None:
    code, _, remarks = giusto("run", *words)
    assert (code, f"giusto: {message}" in remarks) == (2, True)


def test_a_claim_that_fails_without_a_reason_ends_with_1(papers: Path) -> None:
    claims = papers / "small" / "claims.toml"
    claims.write_text(claims.read_text().replace('reason = "misprint"', ""))
    code, _, remarks = giusto("run", "small")
    assert (code, "claims.toml gives no reason: small/wrong" in remarks) == (1, True)


def test_the_page_is_written_with_its_figures_and_keeps_full_results(papers: Path, tmp_path: Path) -> None:
    out = tmp_path / "docs"
    assert giusto("page", "--out", str(out))[0] == 0
    assert not (papers / "small" / "results.json").exists()
    assert giusto("page", "--full", "--out", str(out))[0] == 0
    assert "## small" in (out / "papers.md").read_text()
    assert (out / "papers" / "small" / "line.png").exists()
    assert json.loads((papers / "small" / "results.json").read_text())["size"] == "full"
    assert json.loads(giusto("list", "--json")[1])[0]["reproduce"] == 1


def test_the_page_can_be_written_of_what_was_kept(papers: Path, tmp_path: Path) -> None:
    out = tmp_path / "docs"
    code, _, remarks = giusto("page", "--kept", "--out", str(out))
    assert (code, "results that were kept" in remarks) == (2, True)
    assert giusto("page", "--full", "--only", "small", "--out", str(out))[0] == 0
    written = (out / "papers.md").read_text()
    (papers / "small" / "__init__.py").write_text("raise SystemExit('not run')")
    assert giusto("page", "--kept", "--out", str(out))[0] == 0
    assert (out / "papers.md").read_text() == written
    assert giusto("page", "--kept", "--out", str(tmp_path / "new" / "docs"))[0] == 0
    assert (tmp_path / "new" / "docs" / "papers.md").read_text() == written
    assert giusto("page", "--only", "other", "--out", str(out))[0] == 2
