"""Sweeps on a real Spark: results are those of the experiment, and what fails takes nothing with it."""

from __future__ import annotations

import signal
import statistics
from pathlib import Path
from typing import TYPE_CHECKING, Any

import experiments
import pytest

from giusto.errors import InvalidInput
from giusto.pipeline import session, sweep
from giusto.pipeline.confidence import half_width

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def rows_of(out: Path) -> list[dict[str, Any]]:
    return [row.asDict() for row in sweep.results(out).orderBy("seed").collect()]


def test_results_are_those_of_the_experiment(tmp_path: Path) -> None:
    cases = sweep.grid(policy=["twrr", "fair"], messages=100, seed=range(8))
    seen: list[sweep.Progress] = []
    done = sweep.run("waiting", cases, tmp_path / "out", watch=seen.append)
    assert (done.cases, done.ran, done.failures) == (16, 16, [])
    assert (seen[0].done, seen[-1].done, seen[-1].total) == (0, 16, 16)
    found = {(row["policy"], row["seed"]): row for row in rows_of(tmp_path / "out")}
    for case in cases:
        expected = experiments.waiting(**case)  # type: ignore[arg-type]
        row = found[case["policy"], case["seed"]]
        assert {name: row[name] for name in expected} == expected


def test_means_and_intervals_are_those_of_the_textbook(tmp_path: Path) -> None:
    sweep.run("experiments:square", sweep.grid(x=[1, 2], seed=range(5)), tmp_path)
    rows = {(row["x"], row["result"]): row for row in sweep.summary(tmp_path).to_pylist()}
    assert len(rows) == 6
    noisy = [2.0 + seed for seed in range(5)]
    spread = statistics.stdev(noisy)
    row = rows[2, "noisy"]
    assert (row["count"], row["mean"], row["deviation"]) == (5, pytest.approx(4.0), pytest.approx(spread))
    assert row["half_width"] == pytest.approx(half_width(5, spread))
    assert (row["least"], row["most"]) == (2.0, 6.0)
    assert (rows[2, "square"]["mean"], rows[2, "square"]["half_width"]) == (4.0, 0.0)
    assert rows[1, "rare"]["count"] == 3


def test_groups_can_be_chosen(tmp_path: Path) -> None:
    sweep.run("experiments:square", sweep.grid(x=[1, 2, 6], seed=range(2)), tmp_path)
    all_together = {row["result"]: row for row in sweep.summary(tmp_path, by=[]).to_pylist()}
    assert (all_together["noisy"]["count"], all_together["noisy"]["mean"]) == (6, pytest.approx(3.5))
    with pytest.raises(InvalidInput, match="a parameter of the sweep: x, seed"):
        sweep.summary(tmp_path, by=["y"])


def test_a_kept_summary_is_of_the_results_that_are_there(tmp_path: Path) -> None:
    sweep.run("experiments:square", sweep.grid(x=1, seed=range(2)), tmp_path)
    first = sweep.summary(tmp_path)
    assert sweep.summary(tmp_path).equals(first)
    sweep.run("experiments:square", sweep.grid(x=1, seed=range(4)), tmp_path, resume=True)
    assert sweep.summary(tmp_path).column("count").to_pylist() == [4, 2, 4]


def test_a_run_that_fails_is_told_with_its_seed_and_the_others_go_on(tmp_path: Path) -> None:
    done = sweep.run("experiments:sometimes", sweep.grid(policy=["twrr", "none"], seed=range(6)), tmp_path)
    failed = {(each.parameters["policy"], each.parameters["seed"]): each for each in done.failures}
    assert set(failed) == {("twrr", 3), *(("none", seed) for seed in range(6))}
    assert str(failed["twrr", 3]) == "policy=twrr seed=3: RuntimeError: no luck with twrr"
    assert "in sometimes" in failed["twrr", 3].trace
    assert len(rows_of(tmp_path)) == sweep.missing(tmp_path) - 2 == 5


def test_a_worker_that_dies_costs_one_case(tmp_path: Path, spark: SparkSession) -> None:
    done = sweep.run("experiments:deadly", sweep.grid(seed=range(12)), tmp_path)
    [failure] = done.failures
    assert failure.parameters == {"seed": 5}
    assert failure.error == "the worker process died: it was killed, or ended itself"
    assert [row["seed_again"] for row in rows_of(tmp_path)] == [*range(5), *range(6, 12)]
    assert spark.range(7).count() == 7


def test_a_failed_case_is_tried_again_when_the_sweep_goes_on(tmp_path: Path) -> None:
    sweep.run("experiments:sometimes", sweep.grid(policy="twrr", seed=range(5)), tmp_path)
    again = sweep.resume(tmp_path)
    assert (again.cases, again.ran, len(again.failures)) == (5, 1, 1)


def test_an_interrupted_sweep_leaves_no_job_and_goes_on(tmp_path: Path, spark: SparkSession) -> None:
    def interrupt(seen: sweep.Progress) -> None:
        if seen.ran:
            signal.raise_signal(signal.SIGINT)

    marks, out = tmp_path / "marks", tmp_path / "out"
    marks.mkdir()
    cases = sweep.grid(folder=str(marks), seed=range(24))
    with pytest.raises(KeyboardInterrupt):
        sweep.run("experiments:marked", cases, out, watch=interrupt)
    assert list(spark.sparkContext.statusTracker().getActiveJobsIds()) == []
    before = {row["seed"] for row in rows_of(out)}
    assert 0 < len(before) < 24
    done = sweep.resume(out)
    assert done.ran == 24 - len(before)
    assert {row["seed"] for row in rows_of(out)} == set(range(24))
    counts = experiments.marks(marks)
    assert all(counts[seed] == 1 for seed in before)


def test_cases_may_come_from_a_table_of_spark(tmp_path: Path, spark: SparkSession) -> None:
    table = spark.range(3).selectExpr("cast(id as int) as x", "id * 2 as seed")
    sweep.run("experiments:square", table, tmp_path)
    assert [row["noisy"] for row in rows_of(tmp_path)] == [0.0, 3.0, 6.0]


@pytest.mark.parametrize(
    ("experiment", "cases", "problem"),
    [
        ("experiments:nothing", [{"x": 1}], "a function that experiments has"),
        (
            "experiments:square",
            [{"y": 1}],
            "parameter = y: expected one that experiments:square takes: x, seed",
        ),
        ("experiments:square", [], "at least one case"),
    ],
)
def test_what_cannot_work_is_refused_and_leaves_nothing(
    tmp_path: Path, experiment: str, cases: list[dict[str, Any]], problem: str
) -> None:
    with pytest.raises(InvalidInput, match=problem):
        sweep.run(experiment, cases, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_there_is_one_session_in_a_process(spark: SparkSession) -> None:
    assert session.session() is session.session("local[2]") is spark
    with pytest.raises(InvalidInput, match=r"master = local\[1\]: expected local\[2\], which this process"):
        session.session("local[1]")
