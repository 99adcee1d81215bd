"""How a sweep looks in the terminal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import CliRunner

from giusto.cli.app import app
from giusto.cli.sweep.progress import line, show_rate, show_time
from giusto.cli.sweep.table import page, show_mean
from giusto.errors import InvalidInput
from giusto.pipeline import summary, sweep
from giusto.pipeline.cases import made
from giusto.pipeline.experiment import Outcome
from giusto.pipeline.folder import Folder
from giusto.pipeline.sweep import Progress

PAPER = "giusto.papers:case"


def row(
    policy: str, result: str, mean: float | None, half_width: float | None, count: int = 20
) -> dict[str, Any]:
    return {
        "policy": policy,
        "result": result,
        "count": count,
        "mean": mean,
        "deviation": None,
        "half_width": half_width,
        "least": None,
        "most": None,
    }


SUMMARY = [
    row("fifo", "earning", 332_927.94, 1204.0),
    row("fifo", "success", 0.90512, 0.0123),
    row("mtep", "earning", None, None, 0),
    row("mtep", "success", 0.5, None, 1),
]


def test_a_group_is_a_row_and_a_number_a_column() -> None:
    shown = page(SUMMARY)
    assert shown.columns == ["policy", "runs", "earning", "success"]
    assert shown.rows == [
        ["fifo", "20", "332,928 ± 1,204", "0.905 ± 0.012"],
        ["mtep", "1", "–", "0.5"],
    ]


def test_only_the_numbers_that_are_asked_for_are_shown() -> None:
    assert page(SUMMARY, ["success"]).columns == ["policy", "runs", "success"]
    with pytest.raises(InvalidInput, match="--result = sucess: expected one of earning, success"):
        page(SUMMARY, ["sucess"])


@pytest.mark.parametrize(
    ("mean", "half_width", "text"),
    [
        (3.14159, 0.5, "3.14 ± 0.50"),
        (3.14159, None, "3.14159"),
        (5.0, 0.0, "5 ± 0"),
        (1_234_567.8, None, "1,234,568"),
        (1e-20, 3e-21, "1e-20 ± 3e-21"),
        (-12.3456, 12.0, "-12 ± 12"),
    ],
)
def test_a_mean_has_the_digits_that_its_interval_justifies(
    mean: float, half_width: float | None, text: str
) -> None:
    assert show_mean(mean, half_width) == text


def test_progress_says_runs_failures_rate_and_time_left() -> None:
    assert line(Progress(done=0, total=500, ran=0, failed=0, seconds=0.0)) == "0 of 500 runs"
    seen = Progress(done=412, total=500, ran=12, failed=3, seconds=6.0)
    assert line(seen) == "412 of 500 runs, 3 failed, 2.0/s, 0:44 left"


@pytest.mark.parametrize(
    ("rate_hz", "text"), [(1234.5, "1,234/s"), (2.5, "2.5/s"), (0.5, "30/min"), (0.001, "3.6/h")]
)
def test_rates_in_a_unit_that_fits(rate_hz: float, text: str) -> None:
    assert show_rate(rate_hz) == text


@pytest.mark.parametrize(("seconds", "text"), [(0.4, "0:00"), (61, "1:01"), (3_725, "1:02:05")])
def test_times_for_people(seconds: float, text: str) -> None:
    assert show_time(seconds) == text


def looked_at(path: Path, by: list[str] | None, rows: list[dict[str, Any]]) -> Path:
    """A sweep that somebody has looked at: to look again needs no Spark."""
    cases = made([{"policy": "fifo", "seed": 0}])
    folder = Folder(path)
    with folder.writing():
        folder.begin({"experiment": "module:function"}, cases)
        folder.append(cases, [(digest, Outcome(0.1, {"success": 1.0})) for digest in cases.rows])
        summary.keep(folder, summary.look_at(folder, by, 95.0), pa.Table.from_pylist(rows))
    return path


def test_a_kept_summary_is_shown_as_json(tmp_path: Path) -> None:
    looked_at(tmp_path, None, SUMMARY)
    done = CliRunner().invoke(app, ["sweep", "show", str(tmp_path), "--json", "--result", "success"])
    assert (done.exit_code, [row["mean"] for row in json.loads(done.stdout)]) == (0, [0.90512, 0.5])


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_number_that_there_is_not_is_refused(tmp_path: Path, form: list[str]) -> None:
    looked_at(tmp_path, None, SUMMARY)
    done = CliRunner().invoke(app, ["sweep", "show", str(tmp_path), "--result", "nosuch", *form])
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == "giusto: --result = nosuch: expected one of earning, success\n"


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_no_parameter_makes_one_group_of_all(tmp_path: Path, form: list[str]) -> None:
    together = [{name: value for name, value in SUMMARY[1].items() if name != "policy"}]
    looked_at(tmp_path, [], together)
    done = CliRunner().invoke(app, ["sweep", "show", str(tmp_path), "--by", "", *form])
    assert (done.exit_code, "0.905" in done.stdout) == (0, True)


def test_ctrl_c_says_how_to_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(sweep, "run", interrupted)
    done = CliRunner().invoke(app, ["sweep", "run", "waiting", "--seeds", "2", "--out", "rates"])
    assert done.exit_code == 130
    assert done.stderr == "interrupted: go on with `giusto sweep run --resume --out rates`\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run", "waiting"], "--out is missing: expected the folder"),
        (["run", "--out", "x"], "TABLE is missing: expected a TOML file or an experiment"),
        (["run", "--resume", "--seeds", "3", "--out", "x"], "the experiment whose --param and --seeds"),
        (["run", "wating", "--seeds", "3", "--out", "x"], "EXPERIMENT = wating: expected module:function"),
        (
            ["run", "waiting", "-p", "polcy=fair", "--out", "x"],
            "--param = polcy: expected one that waiting takes",
        ),
        (["run", "waiting", "--seeds", "0", "--out", "x"], "--seeds = 0: expected a whole number from 1"),
        (["run", "waiting", "-p", "policy=nope", "--out", "x"], "policy = nope: expected"),
        (["run", "waiting", "-p", "load=much", "--out", "x"], "load = much: expected a number above 0"),
        (["run", PAPER, "-p", "paper=nope", "--out", "x"], "paper = nope: expected one of mtep, rtmb, tempo"),
        (
            ["run", PAPER, "-p", "paper=mtep", "-p", "policy=mtep,edf", "--out", "x"],
            "--policy = edf: expected one of mtep, fifo, priority, lrt",
        ),
        (
            ["run", PAPER, "-p", "paper=tempo", "-p", "contention=1,0", "--out", "x"],
            "--contention = 0: expected a whole number from 1 to 100",
        ),
        (["show", "nowhere"], "--out = nowhere: expected a folder with a sweep in it"),
        (["show", "nowhere", "--failures"], "--out = nowhere: expected a folder with a sweep in it"),
    ],
)
def test_a_wrong_call_is_told_in_one_line(words: list[str], said: str) -> None:
    done = CliRunner().invoke(app, ["sweep", *words])
    assert done.exit_code == 2
    assert done.stderr.startswith("giusto: ")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
