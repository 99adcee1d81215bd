"""The folder of tables: each appears whole, and nobody else's files are touched."""

from __future__ import annotations

import errno
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from giusto.cli.pipeline.quarantine import left_out
from giusto.errors import InvalidInput, SparkFailed
from giusto.pipeline import output
from giusto.pipeline.manifests import dropped, told
from giusto.pipeline.origin import BATCH, STREAM, Origin, replaced
from giusto.pipeline.output import Output, exchange, named, read_files, write_files
from giusto.pipeline.result import result
from giusto.pipeline.shipping import shipped
from giusto.pipeline.tables.files import BadFile
from giusto.pipeline.verdict import Counts, Verdict, judged
from giusto.pipeline.volume import GIB, heap_bytes, machine_memory, volume
from giusto.pipeline.work import explanation

AUDIT = {
    "with_bound": 0,
    "violations": 0,
    "uncertain": 0,
    "misses": 0,
    "largest_ratio": None,
    "proved_ratio": None,
}


def put(folder: Path, name: str, text: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)


def test_a_table_takes_the_place_of_the_one_before_as_a_whole(tmp_path: Path) -> None:
    out = Output(tmp_path / "out")
    for text in ("first", "second"):
        with out.writing():
            put(out.new("losses"), f"part-{text}.parquet", text)
            put(out.new("losses"), ".part.crc", "left by Spark")
            put(out.new("losses"), "_SUCCESS", "")
            out.keep("losses")
        assert [path.name for path in (out.path / "losses").iterdir()] == [f"part-{text}.parquet"]


def test_no_table_changes_before_all_of_them_can(tmp_path: Path) -> None:
    out = Output(tmp_path / "out")
    with out.writing():
        for name in ("losses", "shares"):
            put(out.new(name), "part.parquet", "before")
        out.keep("losses", "shares")
        put(out.new("losses"), "part.parquet", "after")
        out.new("shares").write_text("no folder")
        with pytest.raises(FileExistsError):
            out.keep("losses", "shares")
        assert (out.path / "losses" / "part.parquet").read_text() == "before"
        out.new("shares").unlink()
        put(out.new("shares"), "part.parquet", "after")
        out.keep("losses", "shares")
    for name in ("losses", "shares"):
        assert (out.path / name / "part.parquet").read_text() == "after"


def test_what_a_writer_left_unfinished_is_removed_by_itself_or_by_the_next(tmp_path: Path) -> None:
    out = Output(tmp_path / "out")
    with suppress(KeyboardInterrupt), out.writing():
        put(out.new("losses"), "part.parquet", "half")
        raise KeyboardInterrupt
    assert list(out.path.glob(".new-*")) == []
    put(out.path / ".new-killed" / "losses", "part.parquet", "half")
    with out.writing():
        assert [path.name for path in out.path.glob(".new-*/*")] == []
    assert not (out.path / "losses").exists()


def test_two_folders_change_places_on_any_file_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path / "a", "x", "a")
    put(tmp_path / "b", "x", "b")
    exchange(tmp_path / "a", tmp_path / "b")
    assert ((tmp_path / "a" / "x").read_text(), (tmp_path / "b" / "x").read_text()) == ("b", "a")
    monkeypatch.setattr(output.ctypes, "CDLL", lambda *args, **kwargs: object())
    exchange(tmp_path / "a", tmp_path / "b")
    assert ((tmp_path / "a" / "x").read_text(), (tmp_path / "b" / "x").read_text()) == ("a", "b")


def test_a_folder_with_other_things_in_it_is_refused_and_left_alone(tmp_path: Path) -> None:
    put(tmp_path, "thesis.tex", "years of work")
    with pytest.raises(InvalidInput, match=r"an empty folder or one with tables; it holds thesis\.tex"):
        Output(tmp_path).writing().__enter__()
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
    with pytest.raises(InvalidInput, match=r"out = .*: expected a folder"):
        Output(tmp_path / "thesis.tex").writing().__enter__()


def test_a_folder_has_one_writer(tmp_path: Path) -> None:
    with (
        Output(tmp_path).writing(),
        pytest.raises(InvalidInput, match="that no other pipeline writes just now"),
        Output(tmp_path).writing(),
    ):
        pass


def test_a_verdict_is_read_again_as_it_was_written(tmp_path: Path) -> None:
    audit = [
        {**AUDIT, "with_bound": 4, "violations": 2, "uncertain": 1, "misses": 3, "largest_ratio": 1.5},
        {**AUDIT, "with_bound": 3, "largest_ratio": 0.5, "proved_ratio": 0.75},
        AUDIT,
    ]
    losses = [{"outcome": "policed", "count": 4}, {"outcome": "policed", "count": 1}]
    counts = Counts(records=9, used=8, duplicates=1)
    verdict = judged(counts, 12, audit, losses, ["b", None, "a", "a"], dropped={})
    assert (verdict.violations, verdict.uncertain, verdict.misses, verdict.largest_ratio) == (2, 1, 3, 1.5)
    assert (verdict.proved_ratio, verdict.deliveries, verdict.arrived) == (0.75, 12, 7)
    assert (verdict.losses, verdict.runs, verdict.contracts) == ({"policed": 5}, ["a", "b"], 3)
    assert (verdict.verdict, verdict.held) == ("violated", False)
    out = Output(tmp_path / "out")
    with out.writing():
        out.keep_verdict(verdict.to_dict())
    assert result(out.path).verdict == verdict
    with pytest.raises(InvalidInput, match="table = losses: expected one of"):
        result(out.path).folder("losses")
    with pytest.raises(InvalidInput, match="a folder with tables"):
        result(tmp_path)


@pytest.mark.parametrize(
    ("with_bound", "violations", "uncertain", "word"),
    [(0, 0, 0, "no promises"), (3, 0, 0, "held"), (3, 0, 1, "uncertain"), (3, 1, 1, "violated")],
)
def test_the_verdict_in_a_word(with_bound: int, violations: int, uncertain: int, word: str) -> None:
    row = {**AUDIT, "violations": violations, "uncertain": uncertain, "largest_ratio": 0.5}
    # A contract with a deadline alone promises nothing.
    rest = {**row, "violations": 0, "uncertain": 0, "with_bound": 0, "misses": 9}
    verdict: Verdict = judged(Counts(), 0, [{**row, "with_bound": with_bound}, rest], [], [], dropped={})
    assert verdict.contracts == 2
    assert verdict.verdict == word


def test_what_writers_say_is_counted(tmp_path: Path) -> None:
    put(
        tmp_path / "manifest",
        "hub-1.jsonl",
        '{"event": "file", "rows": 100}\n{"event": "dropped", "rows": 3, "reason": "ring"}\n[]\n'
        '{"event": "removed", "rows": 9, "reason": "age"}\n{"event": "dropped", "ro',
    )
    put(
        tmp_path / "manifest",
        "nurse-1.jsonl",
        '{"event": "dropped", "rows": 4, "reason": "ring"}\n'
        '{"event": "dropped", "rows": "x", "reason": "age"}\n',
    )
    assert dropped(tmp_path) == {"age": 9, "ring": 7}
    assert dropped(tmp_path / "nowhere") == {}
    put(tmp_path / "manifest", "nurse-2.jsonl", '{"event": "file", "rows": 7}\n{"event": "ended"}\n')
    assert told(tmp_path) == {"dropped": {"age": 9, "ring": 7}, "written": 107, "unended": 2}
    assert told(tmp_path / "nowhere") == {"dropped": {}, "written": None, "unended": 0}


def test_a_full_disk_is_named_with_the_folder(tmp_path: Path) -> None:
    error = explanation("java.io.IOException: No space left on device\n\tat a.b.C", tmp_path)
    assert isinstance(error, OSError)
    assert (error.errno, error.filename) == (errno.ENOSPC, str(tmp_path))
    other = explanation("Job aborted\nCaused by: java.lang.OutOfMemoryError: Java heap space", tmp_path)
    assert isinstance(other, SparkFailed)
    assert "Java heap space; the tables are as they were before" in str(other)


def test_files_that_were_left_out_are_named_and_those_that_are_too_many_are_counted(tmp_path: Path) -> None:
    files = [BadFile(Path(f"{n}.parquet"), "foreign", "no column run", n or None) for n in range(1002)]
    write_files(tmp_path / "quarantine", [*files, BadFile(Path("\udcfc.parquet"), "unreadable", "renamed")])
    *others, nameless = read_files(tmp_path)
    assert (others, nameless.path.name) == (files, "\\xfc.parquet")
    assert named(files[:1]) == "0.parquet (foreign: no column run)"
    assert named(files).endswith(", 2.parquet (foreign: no column run) and 999 more")
    assert left_out(tmp_path)[1] == f"all of them: {tmp_path / 'quarantine' / 'files.parquet'}"
    assert left_out(tmp_path / "elsewhere") == []


def test_what_is_put_aside_is_gone_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(path: Path) -> None:
        raise KeyboardInterrupt

    put(tmp_path / "stream", "query.json", "of a stream")
    out = Output(tmp_path)
    out.claim({})
    monkeypatch.setattr(output, "remove", killed)
    with suppress(KeyboardInterrupt), out.writing():
        out.put_aside("stream", "bus")
    assert not (tmp_path / "stream").exists()


def test_a_folder_that_was_made_for_nothing_is_removed_and_no_other(tmp_path: Path) -> None:
    for place in (tmp_path / "a" / "b" / "out", tmp_path):
        with suppress(KeyboardInterrupt), Output(place).writing():
            (place / "bus" / "records").mkdir(parents=True)
            put(place / "bus", "broker.json", "whose records these would be")
            raise KeyboardInterrupt
        assert list(tmp_path.iterdir()) == []
    (tmp_path / ".git" / "refs").mkdir(parents=True)
    with suppress(KeyboardInterrupt), Output(tmp_path).writing():
        raise KeyboardInterrupt
    assert (tmp_path / ".git" / "refs").exists()
    with Output(tmp_path).writing():
        put(tmp_path / "bus" / "records", "hub-1.parquet", "brought over the bus")
    assert (tmp_path / "bus" / "records" / "hub-1.parquet").exists()
    assert Output(tmp_path).mark() == {"format": 1}


ORIGIN = Origin(BATCH, "/a/trace", 10)


@pytest.mark.parametrize(
    ("kept", "wanted", "is_other"),
    [
        (ORIGIN.to_dict(), ORIGIN, False),
        (ORIGIN.to_dict(), Origin(BATCH, "/a/trace", 99), False),
        (ORIGIN.to_dict(), Origin(BATCH, "/b/trace", 10), True),
        (ORIGIN.to_dict(), Origin(STREAM, "/a/trace", 10), True),
        ({"format": 1}, Origin(STREAM, "/a/trace", 10), False),
        ({"mode": "batch", "records": 7, "window_ns": 1}, ORIGIN, False),
    ],
)
def test_tables_of_something_else_are_known_by_what_the_folder_says(
    kept: dict[str, Any], wanted: Origin, is_other: bool, tmp_path: Path
) -> None:
    out = Output(tmp_path)
    out.claim(kept)
    assert replaced(out, wanted, replace=False) is None  # no tables are there yet
    out.keep_verdict({})
    assert replaced(out, wanted, replace=True) == (ORIGIN if is_other else None)
    if is_other:
        with pytest.raises(InvalidInput, match=r"it has the tables of a batch of /a/trace: name another"):
            replaced(out, wanted, replace=False)


def test_the_heap_is_half_of_the_memory_within_limits(tmp_path: Path) -> None:
    assert [heap_bytes(n * GIB) // GIB for n in (1, 4, 64)] == [1, 2, 8]
    assert volume(cores=8, memory_bytes=4 * GIB)["spark.driver.memory"] == "2048m"
    put(tmp_path, "memory.max", "max\n")
    whole = machine_memory(tmp_path / "memory.max")
    put(tmp_path, "memory.max", f"{GIB}\n")
    assert machine_memory(tmp_path / "memory.max") == min(GIB, whole)


def test_workers_get_this_package_beside_what_was_asked_for(tmp_path: Path) -> None:
    import zipfile

    found = shipped(tmp_path, {"spark.archives": "env.tar.gz#env", "spark.executorEnv.PYTHONPATH": "env/x"})
    assert found["spark.archives"] == f"env.tar.gz#env,{tmp_path}/giusto-code.zip#giusto-code"
    assert found["spark.executorEnv.PYTHONPATH"] == "giusto-code:env/x"
    names = zipfile.ZipFile(tmp_path / "giusto-code.zip").namelist()
    assert {"giusto/__init__.py", "giusto/pipeline/shipping.py"} <= set(names)
    assert any(name.endswith(".so") for name in names)
