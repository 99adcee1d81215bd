"""All experiments of a paper in one size: what they found is judged, drawn and written down."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from time import perf_counter

from giusto.errors import InvalidInput
from giusto.papers import drawing
from giusto.papers.claim import Value, judge
from giusto.papers.experiment import Code, Findings, Size, Table, Trial
from giusto.papers.folder import Paper
from giusto.papers.results import Outcome

# The experiment, cases done, cases in all.
Progress = Callable[[str, int, int], None]


def quiet(experiment: str, done: int, total: int) -> None:
    """Nobody looks."""


def run(
    paper: Paper,
    size: Size = Size.SMALL,
    *,
    out: Path | None = None,
    only: str | None = None,
    progress: Progress = quiet,
) -> Outcome:
    """Run a paper, or `only` one experiment of it; with `out` figures and tables go there."""
    code = paper.code
    names = chosen(code, only)
    if out is not None:
        drawing.require_matplotlib()
        out.mkdir(parents=True, exist_ok=True)
    begin = perf_counter()
    findings = {name: measured(code, name, size, progress) for name in names}
    values, tables = together(findings)
    judgements = judge(paper.sheet.claims, values, size, complete=only is None)
    files = [] if out is None else written(paper, code, tables, out, complete=only is None)
    return Outcome(paper.key, size, judgements, files, perf_counter() - begin)


def chosen(code: Code, only: str | None) -> list[str]:
    """The experiments to run."""
    if only is not None and only not in code.experiments:
        raise InvalidInput("--only", only, f"one of {', '.join(code.experiments)}")
    return list(code.experiments) if only is None else [only]


def measured(code: Code, name: str, size: Size, progress: Progress) -> Findings:
    """What one experiment found."""
    progress(name, 0, 1)
    found = code.experiments[name](Trial(size, lambda done, total: progress(name, done, total)))
    progress(name, 1, 1)
    return found


def together(findings: Mapping[str, Findings]) -> tuple[dict[str, Value], dict[str, Table]]:
    """All values and all tables; no two experiments may speak about the same thing."""
    values: dict[str, Value] = {}
    tables: dict[str, Table] = {}
    for name, found in findings.items():
        if twice := sorted(set(values) & set(found.values) | set(tables) & set(found.tables)):
            raise InvalidInput(f"experiments[{name}]", ", ".join(twice), "names that no other one uses")
        values |= found.values
        tables |= found.tables
    return values, tables


def written(
    paper: Paper, code: Code, tables: Mapping[str, Table], out: Path, *, complete: bool
) -> list[Path]:
    """Every table as CSV and every figure as PNG; without all tables, the figures that can be drawn."""
    if (listed := {each.name for each in paper.sheet.figures}) != set(code.figures):
        raise InvalidInput("figures", sorted(code.figures), f"those of claims.toml: {sorted(listed)}")
    files = [drawing.write_csv(table, out / f"{name}.csv") for name, table in tables.items()]
    for name, draw in code.figures.items():
        try:
            picture = draw(tables)
        except KeyError:
            if complete:
                raise
            continue
        files.append(drawing.write_png(picture, out / f"{name}.png"))
    return files
