"""A stream: tables that equal those of a batch, whatever comes late, and whenever the process is killed."""

from __future__ import annotations

import json
import os
import random
import signal
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest
from records import seen, write
from streams import WATCHDOG_S, S, eventually, kept_state, lasting, process, tables, trace_file

from giusto import pipeline
from giusto.errors import InvalidInput
from giusto.pipeline.output import Output, write_json
from giusto.pipeline.progress import Progress
from giusto.pipeline.streaming import parts, slices
from giusto.pipeline.streaming.batches import FILE, Batches
from giusto.pipeline.streaming.intake import Intake
from giusto.pipeline.streaming.slices import State
from giusto.pipeline.streaming.stream import Stream
from giusto.pipeline.tables import bronze
from giusto.pipeline.work import Work

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


class Hand:
    """Micro-batches by hand: what Spark's query would do, one step at a time."""

    def __init__(self, spark: SparkSession, folder: Path, out: Path) -> None:
        self.stream = Stream(spark, folder, Output(out), delay_ns=5 * S)
        self.stream.folder.mkdir(parents=True, exist_ok=True)
        self.intake = Intake(folder, self.stream.folder)
        work = Work(spark, out)
        self.batches = Batches.begun(
            work, folder, self.stream.folder, self.intake, self.stream.window_ns, self.stream.delay_ns
        )

    def do(self, number: int, again: bool = False) -> None:
        """A micro-batch of the files that are new; twice, if Spark does not know that it was done."""
        self.intake.take()
        paths = [str(self.intake.links / name) for name in sorted(self.intake.unread)]
        rows = self.stream.spark.read.schema(bronze.schema()).parquet(*paths)
        named = rows.select(rows["_metadata.file_name"].alias(FILE))
        for _ in range(2 if again else 1):
            self.batches.do(named, number, "query")


def test_micro_batches_come_to_the_tables_of_a_batch_and_say_what_came_too_late(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slices, "IDLE_S", 1e9)  # however slow the machine is
    monkeypatch.setattr(parts, "TOGETHER", 2)
    folder, out = tmp_path / "trace", tmp_path / "out"
    output = Output(out)
    with output.writing():
        hand = Hand(spark, folder, out)
        hand.stream.out = output
        trace_file(folder, 1, 0)
        hand.do(0, again=True)
        assert hand.batches.state.pending_rows == 55
        # What is shown includes the rows that wait, and is not there twice when they are settled.
        first = hand.stream.present(hand.batches)
        assert (first.records, first.used, first.pending) == (55, 54, 55)

        # Another process goes on. A slice ends; with it come a file that is none and a run without a name.
        hand = Hand(spark, folder, out)
        hand.stream.out = output
        rows = [*trace_file(folder, 2, 8), *trace_file(folder, 3, 25)][55:]
        (folder / "records" / "strange.parquet").write_bytes(b"PAR1 and then nothing")
        write(folder / "records" / "nameless.parquet", [{**row, "run": None} for row in rows])
        hand.do(1, again=True)
        assert hand.batches.state.settled == {"r": 2}
        # A stream that is behind shows what is settled, and counts no more than that.
        behind = hand.stream.present(hand.batches, with_waiting=False)
        assert (behind.records, behind.used, behind.duplicates, behind.pending) == (110, 108, 2, 0)

        late = [seen(2 * S + n, ingress=2 * S + n, sequence=9_000 + n) for n in range(3)]
        impossible = seen(26 * S, ingress=26 * S, selected=25 * S, sequence=1)
        write(folder / "records" / "late.parquet", [*late[:2], impossible])
        hand.do(2)
        # What was settled becomes one part with what was before, and so does what was left out.
        write(folder / "records" / "later.parquet", late[2:])
        trace_file(folder, 4, 45)
        hand.do(3)
        assert [part[:11] for part in hand.batches.state.parts] == ["1-000000003"]
        assert [part[:11] for part in hand.batches.state.bad] == ["1-000000003"]
        verdict = hand.stream.present(hand.batches)
    assert (verdict.quarantined, verdict.complete) == ({"late": 3, "order": 1, "truncated": 0}, False)
    assert (verdict.records, verdict.pending, verdict.duplicates) == (5 * 55 + 4, 2 * 55, 5)
    assert verdict.records == verdict.used + verdict.duplicates + sum(verdict.quarantined.values())
    assert verdict.state_bytes > 0
    reasons = pq.read_table(out / "quarantine" / "rows").column("reason").to_pylist()
    assert sorted(reasons) == ["late"] * 3 + ["order"]

    for name in ("late", "later"):
        (folder / "records" / f"{name}.parquet").unlink()
    batch = pipeline.run(folder, tmp_path / "batch")
    assert tables(batch.out) == tables(out)
    assert (batch.verdict.deliveries, batch.verdict.losses) == (verdict.deliveries, verdict.losses)
    assert batch.verdict.violations == verdict.violations > 0
    assert batch.verdict.largest_ratio == verdict.largest_ratio


def test_a_stream_goes_on_only_with_what_it_was(tmp_path: Path) -> None:
    folder, out = tmp_path / "trace", tmp_path / "out"
    trace_file(folder, 1, 0)
    ended = threading.Event()
    ended.set()
    pipeline.stream(folder, out, ended=ended)
    with pytest.raises(InvalidInput, match="of the same window: it holds 10s, not 1s"):
        pipeline.stream(folder, out, ended=ended, window="1s")
    with pytest.raises(InvalidInput, match=f"it has the tables of a stream of {folder}: name another folder"):
        pipeline.stream(tmp_path, out, ended=ended)
    write_json(out / "stream" / "state.json", State(batch=3, query="another").to_dict())
    with pytest.raises(InvalidInput, match=r"query another, not of .*; remove .* to begin anew"):
        pipeline.stream(folder, out, ended=ended)

    (out / "stream" / "query.json").unlink()
    with pytest.raises(InvalidInput, match=r"a whole stream: stream has state.json and no query.json; name"):
        pipeline.stream(folder, out, ended=ended)

    # If that is said, it begins anew; and so does a batch, of which no stream can go on.
    pipeline.stream(folder, out, ended=ended, window="1s", replace=True)
    assert kept_state(out)["batch"] == -1
    with pytest.raises(InvalidInput, match="it has the tables of a stream of"):
        pipeline.run(folder, out)
    pipeline.run(folder, out, replace=True)
    assert not (out / "stream").exists()
    with pytest.raises(InvalidInput, match="it has the tables of a batch of"):
        pipeline.stream(folder, out, ended=ended)


@pytest.mark.long
def test_a_stream_reads_files_of_any_age_and_name_and_none_that_is_damaged(tmp_path: Path) -> None:
    folder, ended = tmp_path / "ward [1] {a}*?", threading.Event()
    for number in (1, 2):
        trace_file(folder, number, 10 * number)
    names = iter(["ward:3 50%20.parquet", "damaged.parquet"])

    def watch(progress: Progress) -> None:
        if progress.rows == 110:
            # A month old, and one whose footer is as good as ever.
            for number, name in enumerate(names, 3):
                trace_file(tmp_path / "later", number, 10 * number)
                written = tmp_path / "later" / "records" / f"hub-1-{number:08}.parquet"
                os.utime(written, (time.time() - 30 * 86_400,) * 2)
                if name == "damaged.parquet":
                    whole = written.read_bytes()
                    written.write_bytes(whole[:4] + bytes(200) + whole[204:])
                written.rename(folder / "records" / name)
        elif progress.rows == 165:
            ended.set()

    watchdog = threading.Timer(WATCHDOG_S, ended.set)
    watchdog.start()
    with pytest.raises(InvalidInput, match="for a stream, a path without any of"):
        pipeline.stream(folder, ended=ended)
    out = tmp_path / "out"
    done = pipeline.stream(folder, out, ended=ended, watch=watch, every="100ms", refresh="1h", delay="2s")
    watchdog.cancel()
    assert (done.verdict.records, done.verdict.quarantined) == (220, {"corrupt": 55})
    assert done.verdict.used + done.verdict.duplicates == 165


@pytest.mark.long
def test_kill_9_at_any_moment_loses_nothing_and_counts_nothing_twice(tmp_path: Path, seed: int) -> None:
    folder, out, log = tmp_path / "trace", tmp_path / "out", tmp_path / "log"
    chance = random.Random(seed)
    written = 0
    for round_ in range(2):
        before = kept_state(out)["records"]
        with process(folder, out, log) as running:
            for number in range(1, 4):
                first_s = 10 * (3 * round_ + number)
                written += len(trace_file(folder, 3 * round_ + number, first_s, seed))
                # Killed while it reads, settles or presents what is one file or two behind.
                eventually(running, log, lambda: kept_state(out)["records"] > before)  # noqa: B023
            time.sleep(chance.uniform(0, 0.5))
            running.kill()
            running.wait(timeout=WATCHDOG_S)
        assert 0 < kept_state(out)["records"] <= written
    with process(folder, out, log) as running:
        eventually(running, log, lambda: kept_state(out)["records"] == written)
        running.send_signal(signal.SIGTERM)
        said, _ = running.communicate(timeout=WATCHDOG_S)
        assert running.returncode == 0, log.read_text()
    batch = pipeline.run(folder, tmp_path / "batch")
    assert tables(out) == tables(batch.out)
    verdict = {**json.loads(said), "out": None}
    assert lasting(verdict) == lasting({**batch.verdict.to_dict(), "out": None})
    assert verdict["records"] == written
