"""A paper is found, run, judged, written down and read again."""

from __future__ import annotations

from pathlib import Path

import pytest

from giusto.errors import InvalidInput, NotInstalled, Unknown
from giusto.papers import Claim, Findings, Size, Table, Verdict, case, drawing, find, found, once, run
from giusto.papers.page import page, tolerances
from giusto.papers.parameters import parameters
from giusto.papers.results import FILE, keep
from giusto.papers.running import together


@pytest.mark.usefixtures("papers")
def test_a_run_judges_every_claim() -> None:
    outcome = run(find("small"), Size.SMALL)
    assert [each.verdict for each in outcome.judgements] == [
        Verdict.REPRODUCES,
        Verdict.DOES_NOT,
        Verdict.REPRODUCES,
    ]
    assert [len(outcome.printed), len(outcome.corrections), len(outcome.unexplained)] == [2, 1, 0]


@pytest.mark.usefixtures("papers")
def test_a_run_writes_figures_and_tables(tmp_path: Path) -> None:
    outcome = run(find("small"), Size.SMALL, out=tmp_path / "out")
    assert [path.name for path in outcome.files] == ["line.csv", "line.png"]
    assert (tmp_path / "out" / "line.csv").read_text() == "x,y\n0,0\n1,1\n2,4\n"
    assert (tmp_path / "out" / "line.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.usefixtures("papers")
def test_equal_runs_write_equal_files(tmp_path: Path) -> None:
    for name in ("one", "two"):
        run(find("small"), Size.SMALL, out=tmp_path / name)
    assert (tmp_path / "one/line.png").read_bytes() == (tmp_path / "two/line.png").read_bytes()


@pytest.mark.usefixtures("papers")
def test_the_size_reaches_the_experiment_and_progress_comes_back() -> None:
    seen: list[tuple[str, int, int]] = []
    run(find("small"), Size.FULL, progress=lambda *far: seen.append(far))
    assert ("lines", 17, 30) in seen
    assert seen[-1] == ("nothing", 1, 1)


@pytest.mark.usefixtures("papers")
def test_one_experiment_alone_leaves_out_what_it_cannot_draw(tmp_path: Path) -> None:
    outcome = run(find("small"), only="nothing", out=tmp_path)
    assert (list(outcome.judgements), outcome.files) == ([], [])
    with pytest.raises(InvalidInput, match="--only = some: expected one of lines, nothing"):
        run(find("small"), only="some")


def test_two_experiments_must_not_speak_of_the_same() -> None:
    with pytest.raises(InvalidInput, match=r"experiments\[b\] = x"):
        together({"a": Findings({"x": 1}), "b": Findings({"x": 1})})


def test_a_figure_that_no_code_draws_is_refused(papers: Path, tmp_path: Path) -> None:
    code = (papers / "small" / "__init__.py").read_text()
    (papers / "small" / "__init__.py").write_text(code.replace('{"line": draw}', "{}"))
    with pytest.raises(InvalidInput, match=r"figures = \[\]: expected those of claims.toml: \['line'\]"):
        run(find("small"), out=tmp_path)


def test_without_matplotlib_only_figures_are_refused(
    papers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drawing, "find_spec", lambda name: None)
    with pytest.raises(NotInstalled, match=r"matplotlib is missing: pip install 'giusto\[papers\]'"):
        run(find("small"), out=tmp_path / "out")
    assert not (tmp_path / "out").exists()
    assert run(find("small")).count(Verdict.REPRODUCES) == 1


def test_results_are_kept_and_judged_by_the_claims_of_today(papers: Path) -> None:
    paper = find("small")
    assert paper.outcome is None
    keep(run(paper, Size.FULL), paper.folder)
    outcome = find("small").outcome
    assert outcome is not None
    assert (outcome.size, outcome.count(Verdict.DOES_NOT)) == (Size.FULL, 1)
    claims = papers / "small" / "claims.toml"
    claims.write_text(claims.read_text().replace('reason = "misprint"', "absolute = 1\nwhy = 'x'"))
    again = find("small").outcome
    assert again is not None
    assert again.count(Verdict.DOES_NOT) == 0


def test_a_claim_that_came_after_the_kept_results_is_left_out(papers: Path) -> None:
    paper = find("small")
    keep(run(paper, Size.FULL), paper.folder)
    claims = papers / "small" / "claims.toml"
    claims.write_text(claims.read_text().replace('id = "right"', 'id = "renamed"'))
    outcome = find("small").outcome
    assert outcome is not None
    assert [each.claim.id for each in outcome.judgements] == ["wrong", "true"]


def test_results_that_are_damaged_are_refused(papers: Path) -> None:
    (papers / "small" / FILE).write_text('{"size": "huge"}')
    with pytest.raises(InvalidInput, match="expected what `make papers` writes"):
        _ = find("small").outcome


@pytest.mark.usefixtures("papers")
def test_the_page_has_every_claim_and_figure() -> None:
    text = page([(find("small"), run(find("small")))])
    assert "| [small](#small) | Small | 1 | 1 | 0 | 1 |" in text
    assert "| `right`, Fig. 1 | a number | 3 | 3 | reproduces |" in text
    assert "| `wrong`, Fig. 1 | another \\| number | 3 | 4 | does not: misprint |" in text
    assert "| `true` for `wrong`, (X1) | what it really is | 4 | 4 | reproduces |" in text
    assert "![Fig. 1: A line.](papers/small/line.png)" in text


def test_the_page_names_each_source_of_tolerances_once() -> None:
    claims = [Claim(id=name, place="", what="", published=1, why=why) for name, why in ("ax", "bx", "cy")]
    assert tolerances(claims).endswith("\n- `a`, `b`: x.\n- `c`: y.\n")
    assert tolerances([]) == ""


def test_the_folder_is_found_above_the_working_directory(
    papers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from giusto.papers import folder

    monkeypatch.delenv("GIUSTO_PAPERS")
    monkeypatch.setattr(folder, "__file__", str(tmp_path / "site" / "giusto" / "papers" / "folder.py"))
    papers.rename(tmp_path / "papers")
    (tmp_path / "deep" / "down").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "deep" / "down")
    assert [paper.key for paper in found()] == ["small"]


def test_a_machine_without_papers_is_told_to_clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from giusto.papers import folder

    monkeypatch.delenv("GIUSTO_PAPERS", raising=False)
    monkeypatch.setattr(folder, "__file__", str(tmp_path / "site" / "giusto" / "papers" / "folder.py"))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NotInstalled, match="clone the repository of giusto"):
        found()
    monkeypatch.setenv("GIUSTO_PAPERS", str(tmp_path))
    with pytest.raises(InvalidInput, match="GIUSTO_PAPERS = "):
        found()


def test_an_unknown_paper_and_a_paper_without_code_are_refused(papers: Path) -> None:
    with pytest.raises(InvalidInput, match="paper = other: expected one of small"):
        find("other")
    (papers / "small" / "__init__.py").write_text('"""Nothing."""')
    with pytest.raises(InvalidInput, match="CODE = None"):
        _ = find("small").code


@pytest.mark.usefixtures("papers")
def test_a_single_run_takes_values_or_texts() -> None:
    expected = {"policy": "lrt", "rate": 2.5, "seed": 7, "strict": True}
    assert once("small", policy="lrt", rate="2.5", seed="7", strict="yes") == expected
    assert once(find("small"), policy="lrt", rate=2.5, seed=7.0, strict=True) == expected


@pytest.mark.usefixtures("papers")
def test_a_case_of_a_sweep_gives_the_numbers_that_were_not_given() -> None:
    assert case(paper="small", seed=7) == {"rate": 1.0, "strict": False}


@pytest.mark.usefixtures("papers")
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"policy": "mtep"}, "--policy = mtep: expected one of fifo, lrt"),
        ({"rate": "quick"}, "--rate = quick: expected a number"),
        ({"seed": "1.5"}, "--seed = 1.5: expected a whole number"),
        ({"seed": 1.5}, "--seed = 1.5: expected a whole number"),
        ({"seed": True}, "--seed = True: expected a whole number"),
        ({"strict": "perhaps"}, "--strict = perhaps: expected yes or no"),
        ({"weight": 1}, "weight = unknown: expected one of policy, rate, seed, strict"),
    ],
)
def test_a_wrong_parameter_is_named(given: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        once("small", **given)


def test_a_parameter_without_a_default_is_refused() -> None:
    def run_with(rate: float) -> None: ...

    with pytest.raises(InvalidInput, match=r"once\(rate\)"):
        parameters(run_with)


def test_a_paper_without_a_single_run_says_so(papers: Path) -> None:
    code = (papers / "small" / "__init__.py").read_text()
    (papers / "small" / "__init__.py").write_text(code.replace(", once)", ")"))
    with pytest.raises(Unknown, match="unknown single run of paper small"):
        once("small")


def test_a_table_has_rows_of_one_width_and_gives_columns() -> None:
    table = Table(("policy", "rate"), [("fifo", 1), ("lrt", 2), ("fifo", 3)])
    assert table.column("rate", policy="fifo") == [1, 3]
    with pytest.raises(Unknown, match="unknown column weight"):
        table.column("weight")
    with pytest.raises(InvalidInput, match=r"rows\[0\]"):
        Table(("a", "b"), [(1,)])
