"""What a file of records says of itself, as the writer of a trace has written it."""

from __future__ import annotations

import shutil
from pathlib import Path

from giusto import _core, record
from giusto.pipeline import manifests
from giusto.pipeline.tables.files import BadFile, Inspector, RecordFile
from giusto.trace import Options, TraceWriter


def written(folder: Path, capacity: int = 9, sampling: int = 1) -> Path:
    """A trace of three records, or of as many as there is room for."""
    columns = _core.Columns(capacity)
    for number, kind in enumerate(("run", "node", "topic", "publisher")):
        columns.set_name(kind, 0, f"{kind} {number}")
    who = {"run": 0, "node": 0, "topic": 0, "publisher": 0, "size_bytes": 1, "outcome": "delivered"}
    for sequence in range(3):
        columns.push(**who, sequence=sequence, t_sent_ns=sequence, t_ingress_ns=sequence)
    options = Options(folder=str(folder), sampling=sampling)
    writer = TraceWriter(options, columns.drain, node="ward 3", run="run 0", wall_offset=lambda: 77)
    writer.stop()
    (file,) = record.files(folder)
    return file


def test_a_file_is_known_by_what_its_writer_says(tmp_path: Path) -> None:
    path = written(tmp_path, sampling=4)
    (file,) = Inspector().inspect([path]).good
    assert file == RecordFile(path, 3, ("run 0", "ward 3", 1), 77, 4)


def test_a_copy_of_a_file_is_known_as_one(tmp_path: Path) -> None:
    path = written(tmp_path)
    copy = Path(shutil.copy(path, path.with_name("copy.parquet")))
    found = Inspector().inspect([path, copy])
    assert [file.path for file in found.good] == [path]
    assert found.bad == (BadFile(copy, "duplicate file", f"a copy of {path.name}", 3),)


def test_a_file_and_its_manifest_are_of_one_run(tmp_path: Path) -> None:
    for name, given in {"full": {"capacity": 2}, "some": {"sampling": 4}, "all": {}}.items():
        written(tmp_path / name, **given)
    found = {
        folder.name: manifests.gaps(folder, Inspector().inspect(record.files(folder)).good)
        for folder in tmp_path.iterdir()
    }
    assert found == {
        "full": {"run 0": {"sampling": 1, "dropped": {"ring": 1}}},
        "some": {"run 0": {"sampling": 4, "dropped": {}}},
        "all": {},
    }
