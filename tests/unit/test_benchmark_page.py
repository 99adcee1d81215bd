"""The page of figures says what was measured, and a line that is no figure is refused."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "run.py"


@pytest.fixture(scope="module")
def run() -> ModuleType:
    spec = importlib.util.spec_from_file_location("benchmark_run", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_the_page_has_one_table_per_bench_with_its_command(run: ModuleType) -> None:
    lines = [
        '{"bench": "twrr", "case": "10 topics", "value": 12345.6, "unit": "ns"}',
        "",
        '{"bench": "fair", "case": "10 topics", "value": 1.5, "unit": "ratio"}',
    ]
    page = run.page({"input": run.figures(lines)}, machine="a machine", date="2026-01-31")
    assert "Measured on 2026-01-31 on a machine." in page
    assert "| 10 topics | 12,346 | ns |" in page
    assert "| 10 topics | 1.5 | ratio |" in page
    assert page.count("benchmarks/run.py input`") == page.count("## ") == 2


def test_cases_that_name_rows_and_columns_become_a_table(run: ModuleType) -> None:
    lines = [
        '{"bench": "a", "case": "x | one", "value": 1, "unit": "ns"}',
        '{"bench": "a", "case": "x | two", "value": 2, "unit": "B"}',
        '{"bench": "a", "case": "y | two", "value": 3, "unit": "B"}',
    ]
    page = run.page({"input": run.figures(lines)}, machine="a machine", date="2026-01-31")
    assert "| case | one, ns | two, B |\n|---|---:|---:|\n| x | 1 | 2 |\n| y |  | 3 |" in page


def test_an_aim_that_is_missed_is_said_so(run: ModuleType) -> None:
    line = (
        '{{"bench": "memory", "case": "1 million queued messages of 128 bytes", "value": {}, "unit": "MB"}}'
    )
    for value, verdict in ((227, "yes"), (251, "**no**")):
        found = {"memory": run.figures([line.format(value)])}
        assert f"| ≤ 250 MB | {value} | {verdict} |" in run.page(
            found, machine="a machine", date="2026-01-31"
        )


@pytest.mark.parametrize(
    "line", ["hello", '{"bench": "a"}', "3", '{"bench":"a","case":"b","value":"x","unit":"c"}']
)
def test_a_line_that_is_no_figure_is_refused(run: ModuleType, line: str) -> None:
    with pytest.raises(SystemExit, match="line 1 is not a figure"):
        run.figures([line])


@pytest.mark.parametrize(
    ("code", "problem"), [("", "silent printed no figure"), ("exit(3)", "silent failed with status 3")]
)
def test_a_program_that_measures_nothing_is_refused(run: ModuleType, code: str, problem: str) -> None:
    program = run.Program("silent", (sys.executable, "-c", code))
    with pytest.raises(SystemExit, match=problem):
        run.measure([program], run.Console(quiet=True))


def test_an_unknown_program_is_refused_with_the_known_ones(run: ModuleType) -> None:
    programs = [run.Program("mtep", ("x",)), run.Program("matching", ("y",))]
    assert [program.name for program in run.chosen(programs, [])] == ["matching", "mtep"]
    assert [program.name for program in run.chosen(programs, ["mtep"])] == ["mtep"]
    with pytest.raises(SystemExit, match="no benchmark mtp; there are matching, mtep"):
        run.chosen(programs, ["mtp"])
