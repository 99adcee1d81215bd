"""What the writers of a trace folder say: which runs have gaps, and what these are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from giusto.pipeline import manifests
from giusto.pipeline.tables.files import RecordFile
from giusto.trace.layout import prefix_of

ENDED = {"event": "ended"}


def file_of(node: str, run: str = "r", number: int = 1, sampling: int = 1) -> RecordFile:
    """A file of records."""
    return RecordFile(Path("any.parquet"), 9, (run, node, number), None, sampling)


def say(folder: Path, node: str, *lines: dict[str, object], run: str = "r", is_broker: bool = True) -> None:
    """Write a manifest; a broker has facts too."""
    for part in ("manifest", "facts"):
        (folder / part).mkdir(exist_ok=True)
    text = "".join(json.dumps(line) + "\n" for line in (*lines, ENDED))
    (folder / "manifest" / f"{prefix_of(node, run)}.jsonl").write_text(text)
    if is_broker:
        (folder / "facts" / f"{prefix_of(node, run)}-00000001.json").write_text("{}")


def dropped(rows: int, reason: str) -> dict[str, object]:
    return {"event": "dropped", "rows": rows, "reason": reason}


def test_a_run_has_gaps_where_records_were_dropped(tmp_path: Path) -> None:
    say(tmp_path, "hub", dropped(3, "ring"), dropped(2, "ring"), dropped(4, "disk"))
    say(tmp_path, "hub", run="other")
    files = [file_of("hub"), file_of("hub", number=2), file_of("hub", run="other")]
    assert manifests.gaps(tmp_path, files) == {"r": {"sampling": 1, "dropped": {"disk": 4, "ring": 5}}}


def test_a_run_has_gaps_where_only_some_messages_were_recorded(tmp_path: Path) -> None:
    # Without a manifest too: each file says it of itself.
    files = [file_of("hub", sampling=5), file_of("hub", number=2, sampling=5)]
    assert manifests.gaps(tmp_path, files) == {"r": {"sampling": 5, "dropped": {}}}
    say(tmp_path, "hub", dropped(80, "sampling"))
    assert manifests.gaps(tmp_path, files) == {"r": {"sampling": 5, "dropped": {"sampling": 80}}}


def test_files_that_were_removed_are_the_oldest_and_no_gap(tmp_path: Path) -> None:
    removed = {"event": "removed", "name": "x", "rows": 9, "reason": "age"}
    say(tmp_path, "hub", removed)
    assert manifests.gaps(tmp_path, [file_of("hub")]) == {}
    assert manifests.told(tmp_path)["dropped"] == {"age": 9}


def test_what_a_subscriber_dropped_is_no_gap_of_the_broker(tmp_path: Path) -> None:
    say(tmp_path, "hub")
    say(tmp_path, "nurse", dropped(3, "ring"), is_broker=False)
    assert manifests.gaps(tmp_path, [file_of("hub"), file_of("nurse")]) == {}
    assert manifests.told(tmp_path)["dropped"] == {"ring": 3}


def test_a_simulation_has_one_writer_for_all_of_its_brokers(tmp_path: Path) -> None:
    say(tmp_path, "seed-1", dropped(3, "ring"), run="wards.1", is_broker=False)
    (tmp_path / "facts" / f"{prefix_of('hub', 'wards.1')}-00000001.json").write_text("{}")
    found = manifests.gaps(tmp_path, [file_of("seed-1", run="wards.1")])
    assert found == {"wards.1": {"sampling": 1, "dropped": {"ring": 3}}}


@pytest.mark.parametrize("place", ["nothing", "file.parquet"])
def test_files_of_which_nobody_says_anything_have_no_gaps(tmp_path: Path, place: str) -> None:
    (tmp_path / "file.parquet").write_bytes(b"")
    unnamed = RecordFile(tmp_path / place, 9)
    assert manifests.gaps(tmp_path / place, [unnamed, file_of("hub")]) == {}
