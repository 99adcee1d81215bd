"""Runs of which records are missing, by sampling or for want of room: nothing wrong is said of them."""

from __future__ import annotations

import json
import logging
import threading
from pathlib import Path
from typing import Any

import pytest
from records import seen, write
from retaining import WATCHDOG_S, Retaining, wait_for
from typer.testing import CliRunner

import giusto
from giusto import pipeline
from giusto.cli.app import app
from giusto.models import EnvelopeModel, Model, QuantumModel
from giusto.pipeline import models, running
from giusto.pipeline.progress import Progress
from giusto.pipeline.result import result
from giusto.record import read
from giusto.trace.layout import prefix_of

pytestmark = pytest.mark.spark

S = 1_000_000_000
T0 = S  # not at the edge of a slice
SERVICE_NS, EACH = 1_000, 5
MESSAGES = 400
PARTS = ("network_in_ns", "queue_ns", "service_ns", "egress_ns", "network_out_ns")
GAPS: dict[str, dict[str, Any]] = {
    "dropped": {"sampling": 1, "dropped": {"ring": 7}},
    "sampled": {"sampling": EACH, "dropped": {"sampling": MESSAGES - MESSAGES // EACH}},
}
MODELS = [("EnvelopeModel", "whole"), ("QuantumModel", "whole")]


def served(run: str, every: int) -> list[dict[str, Any]]:
    """A broker that is busy throughout, 1,000 ns with each message; one in `every` has a record."""
    bound = {"bound_ns": SERVICE_NS, "run": run}
    rows = []
    for n in range(0, MESSAGES, every):
        chosen_ns = T0 + n * SERVICE_NS
        rows.append(seen(T0, ingress=T0, selected=chosen_ns, egress=chosen_ns + 2_500, sequence=n, **bound))
    return rows


def trace(folder: Path) -> Path:
    """A run of which all is there, one that was sampled, and one of which some records were dropped."""
    for number, (run, every) in enumerate({"whole": 1, "sampled": EACH, "dropped": 1}.items()):
        prefix = prefix_of("hub", run)
        says = {"run": run, "node": "hub", "sequence": 1, "sampling": every, "wall_offset_ns": number}
        write(folder / "records" / f"{prefix}-00000001.parquet", served(run, every), **says)
        lines = [
            {"event": "dropped", "rows": rows, "reason": reason}
            for reason, rows in GAPS.get(run, {"dropped": {}})["dropped"].items()
        ]
        (folder / "manifest").mkdir(exist_ok=True)
        text = "".join(json.dumps(line) + "\n" for line in [*lines, {"event": "ended"}])
        (folder / "manifest" / f"{prefix}.jsonl").write_text(text)
    return folder


def require_honest(tables: dict[str, list[dict[str, Any]]]) -> None:
    """What tables say of runs with gaps: less, and nothing that is wrong."""
    assert {row["run"] for row in tables["quantum"]} == {"whole"}
    assert {row["max_ns"] for row in tables["quantum"]} == {SERVICE_NS}
    flows = {(row["run"], row["exact"], row["complete"]) for row in tables["arrival_envelope"]}
    assert flows == {("whole", True, True), ("sampled", False, False), ("dropped", False, False)}
    for row in tables["violations"]:
        assert sum(row[part] or 0 for part in PARTS) == row["observed_ns"]
        # The last of all is followed by none.
        is_last = row["sequence"] == MESSAGES - 1
        expected = (SERVICE_NS, 1_500) if row["run"] == "whole" and not is_last else (None, 2_500)
        assert is_last or (row["service_ns"], row["egress_ns"]) == expected


def said(found: list[Model]) -> list[tuple[str, str]]:
    """Of which runs there are models of flows and quanta."""
    return sorted(
        (type(one).__name__, one.run) for one in found if isinstance(one, EnvelopeModel | QuantumModel)
    )


def test_a_batch_says_which_runs_have_gaps_and_makes_no_models_of_them(tmp_path: Path) -> None:
    folder = trace(tmp_path / "trace")
    done = pipeline.run(folder)
    assert done.verdict.gaps == GAPS
    assert json.loads((done.out / "verdict.json").read_text())["gaps"] == GAPS
    names = ("quantum", "arrival_envelope", "violations")
    require_honest({name: done.table(name).to_pylist() for name in names})
    assert said(list(models.models({name: done.table(name) for name in models.TABLES}))) == MODELS
    # The tables of models alone come to the same.
    assert said(list(models.models(models.measured(folder)))) == MODELS
    page = CliRunner().invoke(app, ["report", str(done.out)])
    assert page.exit_code == 0
    assert f"of run sampled 1 message in {EACH} was recorded" in (done.out / "report.html").read_text()


def test_a_stream_takes_back_what_it_said_of_a_run_once_records_of_it_are_missing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, out, ended, seen_runs = trace(tmp_path / "trace"), tmp_path / "out", threading.Event(), []
    manifest = folder / "manifest" / f"{prefix_of('hub', 'dropped')}.jsonl"
    later, manifest_text = '{"event": "ended"}\n', manifest.read_text()
    manifest.write_text(later)

    def look(progress: Progress) -> None:
        if progress.stage == "presented" and progress.rows and not ended.is_set():
            runs = {row["run"] for row in result(out).table("quantum").to_pylist()}
            seen_runs.append(runs)
            if runs >= {"whole", "dropped"}:
                manifest.write_text(manifest_text)
                ended.set()

    published: list[Model] = []
    monkeypatch.setattr(running, "require_address", lambda *given, **also: None)
    monkeypatch.setattr(models, "publish", lambda url, tables: published.extend(models.models(tables)) or [])
    watchdog = threading.Timer(WATCHDOG_S, ended.set)
    watchdog.start()
    try:
        with caplog.at_level(logging.WARNING, "giusto.pipeline"):
            done = pipeline.stream(
                folder, out, ended=ended, watch=look, every="100ms", refresh="0s", publish="giusto://nowhere"
            )
    finally:
        watchdog.cancel()
    assert seen_runs[-1] == {"whole", "dropped"}
    assert done.verdict.gaps == GAPS
    names = ("quantum", "arrival_envelope", "violations")
    require_honest({name: done.table(name).to_pylist() for name in names})
    assert "no models of flows and quanta: of run dropped 7 records were dropped" in caplog.messages
    assert {one.run for one in published if isinstance(one, QuantumModel)} == {"whole", "dropped"}
    assert {one.run for one in published if isinstance(one, EnvelopeModel)} == {"whole", "dropped"}


def test_over_the_bus_a_sampled_run_is_known_as_one(tmp_path: Path) -> None:
    sampling = {"trace_sampling": str(EACH), "models_listen": "true"}
    with (
        Retaining(tmp_path, "none", traces=True, **sampling) as broker,
        giusto.connect(broker.address, name="monitor") as monitor,
        giusto.connect(broker.address, name="nurse") as nurse,
    ):
        subscription, publisher = nurse.subscribe("pulse"), monitor.advertise("pulse")
        for _ in range(MESSAGES):
            publisher.publish(b"71")
        for _ in range(MESSAGES):
            subscription.receive(timeout=WATCHDOG_S)
        wait_for(lambda: any((tmp_path / "trace" / "records").glob("*.parquet")))
        words = ["pipeline", "run", "--bus", broker.address, "--publish", broker.address]
        done = CliRunner().invoke(app, [*words, "--out", str(tmp_path / "out"), "--json", "--once"])
        run = nurse.run
    assert done.exit_code == 0, done.output
    (gap,) = json.loads(done.stdout)["gaps"].items()
    kept = read(tmp_path / "out" / "bus", ["run"]).num_rows
    assert gap == (run, {"sampling": EACH, "dropped": {"sampling": MESSAGES - kept}})
    assert f"no models of flows and quanta: of run {run} 1 message in {EACH} was recorded" in done.stderr
