"""What `giusto pipeline run` says: the line while it runs, the verdict, and what it refuses at once."""

from __future__ import annotations

import json
import os
import queue
import re
import signal
from pathlib import Path

import pytest
from typer.testing import CliRunner

from giusto.cli.app import app
from giusto.cli.pipeline.interrupting import ENDING, until_told
from giusto.cli.pipeline.page import renewed
from giusto.cli.pipeline.progress import line, lines
from giusto.cli.pipeline.table import rows
from giusto.pipeline import running, session
from giusto.pipeline.output import Output
from giusto.pipeline.progress import STARTING, Progress
from giusto.pipeline.verdict import Counts, judged

AUDIT = {
    "with_bound": 9,
    "violations": 0,
    "uncertain": 0,
    "misses": 0,
    "largest_ratio": 0.113,
    "proved_ratio": 0.25,
}


def test_the_line_of_a_batch_has_the_stage_and_that_of_a_stream_what_waits() -> None:
    assert line(Progress("losses", 5, 9, rows=1_204_332)) == "5 of 9 losses, 1,204,332 records"
    seen = Progress("reading", rows=5_000, seconds=2.0, pending_rows=80, pending_bytes=1_500_000, late_rows=3)
    assert line(seen) == "reading, 5,000 records, 2,500/s, 80 wait (1.5 MB), 3 too late"


def test_the_verdict_says_what_matters_first() -> None:
    counts = Counts(
        records=20, used=15, duplicates=1, quarantined={"order": 4}, quarantined_files={"foreign": 1}
    )
    losses = [{"outcome": "policed", "count": 2}]
    said = dict(rows(judged(counts, 15, [AUDIT], losses, ["r"], dropped={"ring": 9})))
    assert said == {
        "verdict": "held: no delivery was later than promised",
        "contracts": "1, largest observed/bound 25.0\u00a0%, observed/promise 11.3\u00a0%",
        "deliveries": "13 arrived, 2 lost",
        "lost": "2 policed",
        "records": "20 read",
        "left out": "1 duplicate, 4 order, 1 file (foreign)",
        "dropped": "9 ring",
    }


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ({"violations": 3}, "violated: 3 deliveries were later than promised"),
        ({"violations": 1}, "violated: 1 delivery was later than promised"),
        (
            {"with_bound": 0, "largest_ratio": None, "proved_ratio": None, "misses": 5},
            "no promises: nothing was promised for any delivery",
        ),
        (
            {"uncertain": 2},
            "uncertain: 2 deliveries were later than promised, but by less than the clocks may be apart",
        ),
    ],
)
def test_the_verdict_in_a_sentence(found: dict[str, int | None], said: str) -> None:
    verdict = judged(Counts(used=9), 9, [{**AUDIT, **found}], [], [], dropped={})
    assert rows(verdict)[0] == ("verdict", said)


def test_where_nothing_could_be_used_nothing_is_judged() -> None:
    counts = Counts(records=3, quarantined={"foreign": 3}, quarantined_files={"foreign": 2})
    said = dict(rows(judged(counts, 0, [], [], [], dropped={})))
    assert said["verdict"] == "nothing to judge: there was no record that could be used"
    assert said["left out"] == "3 foreign, 2 files (foreign)"


def test_rows_that_came_too_late_are_no_secret() -> None:
    counts = Counts(records=9, quarantined={"late": 4}, pending=3, forgotten=2)
    said = dict(rows(judged(counts, 5, [AUDIT], [], [], dropped={}, complete=False)))
    assert said["not complete"] == "4 records came too late: give a longer --delay, or run with --once"
    assert said["pending"] == "3 records of slices that have not ended"
    assert (said["deliveries"], said["records"]) == ("7 arrived, 0 lost", "9 read")
    assert said["forgotten"] == "2 deliveries were older than --keep"


def test_records_that_were_written_and_not_read_are_no_secret_either() -> None:
    counts = Counts(records=9, used=9)
    said = [dict(rows(judged(counts, 9, [AUDIT], [], [], dropped={}, written=all_))) for all_ in (9, 10)]
    assert "not read" not in said[0]
    assert said[1]["not read"] == "1 record was written and not read: run it again to have them"


def test_runs_of_which_records_are_missing_are_named_with_the_models_that_are_not_published() -> None:
    gaps = {"a1": {"sampling": 5, "dropped": {"sampling": 80}}, "a2": {"sampling": 1, "dropped": {"ring": 2}}}
    verdict = judged(Counts(used=9), 9, [AUDIT], [], [], dropped={}, gaps=gaps)
    assert dict(rows(verdict))["gaps"] == (
        "of run a1 1 message in 5 was recorded; of run a2 2 records were dropped: counts and rates are of "
        "what was recorded, bursts may have been larger, and no service times are known"
    )
    assert running.withheld(verdict) == [
        "no models of flows and quanta: of run a1 1 message in 5 was recorded",
        "no models of flows and quanta: of run a2 2 records were dropped",
    ]


def test_the_page_beside_the_tables_is_made_anew_if_there_is_one(tmp_path: Path) -> None:
    verdict = judged(Counts(records=9, used=9), 9, [AUDIT], [], [], dropped={})
    (tmp_path / "verdict.json").write_text(json.dumps(verdict.to_dict()), "utf-8")
    assert renewed(tmp_path) == f"a page of them: giusto report {tmp_path}"
    assert not (tmp_path / "report.html").exists()
    (tmp_path / "report.html").write_text("of another day", "utf-8")
    assert renewed(tmp_path) == f"page, made anew: {tmp_path / 'report.html'}"
    assert "No delivery was later than promised" in (tmp_path / "report.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "--records is missing: expected a trace folder or a file of records, or a bus"),
        (
            ["--records", ".", "--bus", "giusto://127.0.0.1:9"],
            "--records = .: expected records from one place; giusto://127.0.0.1:9 is named as well",
        ),
        (["--bus", "nonsense://x", "--out", "x"], "--bus = nonsense://x: expected giusto://host:port"),
        (["--records", ".", "--publish", "nonsense://x"], "--publish = nonsense://x: expected giusto://"),
        (["--bus", "giusto://127.0.0.1:9"], "--out is missing: expected a folder for the tables"),
        (["--records", "nowhere"], "--records = nowhere: expected a trace folder"),
        (["--records", ".", "--conf", "x=1"], "--conf = x=1: expected spark.NAME=VALUE"),
        (["--records", ".", "--window", "soon"], "--window = soon: expected a duration"),
        (["--records", ".", "--stream", "--once"], "--stream = also --once: expected one of them"),
        (["--records", ".", "--stream", "--delay", "x"], "--delay = x: expected a duration"),
        (["--records", ".", "--stream", "--keep", "x"], "--keep = x: expected a duration"),
        (["--records", ".", "--keep", "1h"], "--keep = 1h: expected a time for --stream"),
        (["--records", ".", "--master", "moon"], "--master = moon: expected local[*]"),
    ],
)
def test_a_wrong_call_is_refused_before_spark_starts(
    words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["pipeline", "run", *words])
    assert done.exit_code == 2
    assert said in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever starts Spark fails; it need not be installed."""

    def started(*_: object) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.setattr(running, "started", started)
    monkeypatch.setattr(session, "require_spark", lambda: None)


def refused(*words: str, code: int = 2) -> str:
    """What is said when it is refused."""
    done = CliRunner().invoke(app, ["pipeline", "run", *words])
    assert done.exit_code == code, (done.output, done.exception)
    return done.stderr


def contents(folder: Path) -> dict[str, str]:
    """Every file with what is in it; a lock may come."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != ".lock")
    return {str(path): path.read_text() for path in files}


def tables_of(out: Path, **mark: object) -> dict[str, str]:
    """A folder with tables in it, and what it says they were made of."""
    out.mkdir(parents=True)
    (out / "pipeline.json").write_text(json.dumps({"format": 1, **mark}))
    (out / "verdict.json").write_text("{}")
    return contents(out)


@pytest.mark.usefixtures("no_spark")
@pytest.mark.parametrize("mode", ["batch", "stream"])
@pytest.mark.parametrize("more", [[], ["--stream"]])
def test_the_tables_of_something_else_are_not_replaced_unless_told(
    mode: str, more: list[str], tmp_path: Path
) -> None:
    trace, out = tmp_path / "trace", tmp_path / "out"
    trace.mkdir()
    before = tables_of(out, mode=mode, records="/a/trace", window_ns=1)
    words = ["--records", str(trace), "--out", str(out), *more]
    wanted = "stream" if more else "batch"
    assert refused(*words) == (
        f"giusto: --out = {out}: expected a folder for a {wanted} of {trace}; it has the tables of"
        f" a {mode} of /a/trace: name another folder, or replace them with --replace (replace=True)\n"
    )
    assert contents(out) == before


@pytest.mark.usefixtures("no_spark")
def test_nothing_does_not_replace_tables(tmp_path: Path) -> None:
    trace, out = tmp_path / "trace", tmp_path / "out"
    trace.mkdir()
    words = ["--records", str(trace), "--out", str(out)]
    told = f"--records = {trace}: expected records; there is no file of them"
    assert refused(*words) == f"giusto: {told}\n"
    assert not out.exists()
    # Also if they were made of the same records, and if they may be replaced.
    before = tables_of(out, mode="batch", records=str(trace), window_ns=1)
    for more in ([], ["--replace"]):
        assert refused(*words, *more) == f"giusto: {told}; the tables in {out} are as they were\n"
    wrong = tmp_path / "giusto.toml"
    wrong.write_text("[broker]\n")
    said = refused("--records", str(wrong), "--out", str(out), "--replace")
    assert f"--records = {wrong}: expected a file of records; left out giusto.toml (foreign: " in said
    assert contents(out) == before


@pytest.mark.usefixtures("no_spark")
def test_records_are_the_same_by_any_of_their_names_and_never_in_the_folder_of_tables(tmp_path: Path) -> None:
    trace, out = tmp_path / "trace", tmp_path / "out"
    trace.mkdir()
    (tmp_path / "link").symlink_to(trace)
    before = tables_of(out, mode="batch", records=str(trace), window_ns=1)
    said = refused("--records", str(tmp_path / "link"), "--out", str(out))
    assert "there is no file of them" in said  # not: the tables of something else
    (out / "bus").mkdir()
    said = refused("--records", str(out / "bus"), "--out", str(out), "--replace")
    assert said == (
        f"giusto: --records = {out / 'bus'}: expected records outside of the folder of tables, {out}\n"
    )
    assert contents(out) == before


@pytest.mark.usefixtures("no_spark")
def test_a_folder_that_cannot_be_used_is_refused_before_spark_starts(tmp_path: Path) -> None:
    trace, out = tmp_path / "trace", tmp_path / "out"
    trace.mkdir()
    words = ["--records", str(trace), "--out", str(out)]
    with Output(out).writing():
        for more in ([], ["--stream"]):
            assert "a folder that no other pipeline writes just now" in refused(*words, *more)
    out.mkdir()
    (out / "thesis.tex").write_text("years of work")
    for more in ([], ["--stream"]):
        assert "an empty folder or one with tables; it holds thesis.tex" in refused(*words, *more)
    assert "a path without any of" in refused(
        "--records", str(trace), "--out", str(tmp_path / "[x]"), "--stream"
    )


@pytest.mark.usefixtures("no_spark")
@pytest.mark.parametrize("more", [[], ["--stream"]])
def test_a_broker_that_is_not_there_leaves_no_folder(more: list[str], tmp_path: Path) -> None:
    out = tmp_path / "new" / "out"
    said = refused("--bus", "giusto://127.0.0.1:9", "--out", str(out), *more, code=1)
    assert "no broker at giusto://127.0.0.1:9" in said
    assert list(tmp_path.iterdir()) == []


def test_a_line_comes_now_and_then_also_while_nothing_changes() -> None:
    said: queue.Queue[str] = queue.Queue()
    with lines(every_s=0.01) as screen:
        screen.say = said.put
        assert not screen.has_begun()
        screen.watch(Progress(STARTING))
        assert not screen.has_begun()
        for _ in range(2):
            assert re.fullmatch(r"starting Spark, \d+ s", said.get(timeout=60))
        screen.watch(Progress("reading", coming_rows=55))
        assert screen.has_begun()
        while (text := said.get(timeout=60)).startswith("starting"):
            pass
        assert re.fullmatch(r"reading, 0 records, 55 under way, \d+ s", text)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_stream_and_a_second_one_does_what_it_did_before(number: signal.Signals) -> None:
    before, said = signal.getsignal(number), []
    with until_told(lambda: True, said.append) as ended:
        assert signal.getsignal(number) != before
        os.kill(os.getpid(), number)
        assert ended.wait(60)
        assert signal.getsignal(number) == before
    assert signal.getsignal(number) == before
    assert said == [ENDING]


def test_a_stream_that_has_not_begun_is_interrupted() -> None:
    before, said = signal.getsignal(signal.SIGINT), []
    with until_told(lambda: False, said.append) as ended:
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        assert not ended.is_set()
    assert (said, signal.getsignal(signal.SIGINT)) == ([], before)
