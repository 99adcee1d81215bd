"""Where the tables are kept: each of them appears whole, or stays as it was.

    deliveries/*.parquet, <table>/*.parquet      a folder for each table
    quarantine/files.parquet, quarantine/rows/   what could not be used, with the reason
    verdict.json                                 what it comes to; written last
    pipeline.json                                whose folder this is, and what the tables were made of
    stream/                                      what a stream needs to go on
    bus/                                         files that were brought over the bus

Tables are written under `.new-…` and exchanged with those before when all of them are there. What is under
such a name was left by a process that was killed: the next writer removes it.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import json
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from giusto.errors import InvalidInput

if TYPE_CHECKING:
    from giusto.pipeline.tables.files import BadFile

FORMAT = 1
MARK, VERDICT, NEW, LOCK = "pipeline.json", "verdict.json", ".new", ".lock"
DELIVERIES, QUARANTINE, STREAM, BUS = "deliveries", "quarantine", "stream", "bus"
FILES = f"{QUARANTINE}/files.parquet"
# So many of the files that were left out are named for people.
NAMED = 3
AT_FDCWD, RENAME_EXCHANGE = -100, 2
# What Spark, and tasks that were killed, leave beside the files that they write.
LITTER = (".*.crc", "_SUCCESS", ".part-*")


class Output:
    """A folder with the tables of one pipeline in it, or none yet."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).absolute()
        # What was killed may be writing for a moment still: not where this process does.
        self._token = secrets.token_hex(4)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Be the only writer; the folder is made if need be, and removed if nothing comes of it."""
        self._require_own()
        made = [path for path in (self.path, *self.path.parents) if not path.exists()]
        self.path.mkdir(parents=True, exist_ok=True)
        lock = os.open(self.path / LOCK, os.O_CREAT | os.O_RDWR, 0o644)
        try:
            self._require_alone(lock)
            is_new = self.mark() is None
            for unfinished in self.path.glob(f"{NEW}-*"):
                remove(unfinished)
            try:
                self.new("").mkdir()
                if is_new:
                    write_json(self.path / MARK, {"format": FORMAT})
                yield
            finally:  # also of a disk that is full
                shutil.rmtree(self.new(""), ignore_errors=True)
                if is_new and not self.has_tables():
                    self._leave(made)
        finally:
            os.close(lock)

    def _require_alone(self, lock: int) -> None:
        """Take the lock, unless somebody has it or has removed the folder."""
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_there = os.fstat(lock).st_nlink > 0
        except OSError:
            is_there = False
        if not is_there:
            raise InvalidInput("out", self.path, "a folder that no other pipeline writes just now")

    def _leave(self, made: Iterable[Path]) -> None:
        """Remove what was made for tables that did not come."""
        if not any((self.path / BUS).rglob("*.parquet")):
            remove(self.path / BUS)
        ours = [path for name in (BUS, STREAM) for path in (self.path / name, *(self.path / name).rglob("*"))]
        for folder in sorted((path for path in ours if path.is_dir()), reverse=True):
            with suppress(OSError):
                folder.rmdir()
        if {path.name for path in self.path.iterdir()} <= {MARK, LOCK}:
            for name in (MARK, LOCK):
                (self.path / name).unlink(missing_ok=True)
            for folder in made:
                with suppress(OSError):  # somebody put something there
                    folder.rmdir()

    def new(self, name: str) -> Path:
        """Where to write a table, before it is kept."""
        return self.path / f"{NEW}-{self._token}" / name

    def keep(self, *names: str) -> None:
        """Let what was written take the places of the tables before, one right after the other.

        All of it is on the disk by then, and nothing is removed meanwhile: who is killed here has hardly ever
        changed some of them only.
        """
        for name in names:
            self.new(name).mkdir(parents=True, exist_ok=True)  # a table without rows
            settle(self.new(name))
            (self.path / name).parent.mkdir(parents=True, exist_ok=True)
        for name in names:
            written, place = self.new(name), self.path / name
            if place.exists():
                exchange(written, place)
            else:
                written.rename(place)
        for name in names:
            sync((self.path / name).parent)
            remove(self.new(name))

    def put_aside(self, *names: str) -> None:
        """Let these go, each at once: who is killed while they are removed leaves nothing half."""
        for name in names:
            if (self.path / name).exists():
                (self.path / name).rename(self.new(f"{name}.old"))
            remove(self.new(f"{name}.old"))

    def keep_verdict(self, verdict: dict[str, Any]) -> None:
        """Say that all tables are there, and what they come to."""
        write_json(self.path / VERDICT, verdict)

    def mark(self) -> dict[str, Any] | None:
        """What the folder says of itself, if it does."""
        kept = read_json(self.path / MARK)
        return kept if isinstance(kept, dict) else None

    def claim(self, origin: dict[str, Any]) -> None:
        """Say what the tables are made of."""
        write_json(self.path / MARK, {"format": FORMAT, **origin})

    def has_tables(self) -> bool:
        """Whether there are tables, or a stream that has begun to make them."""
        return (self.path / VERDICT).exists() or (self.path / STREAM).exists()

    def _require_own(self) -> None:
        """Refuse a folder that somebody keeps other things in."""
        if not self.path.exists():
            return
        if not self.path.is_dir():
            raise InvalidInput("out", self.path, "a folder")
        strange = sorted(path.name for path in self.path.iterdir() if not path.name.startswith("."))
        if strange and MARK not in strange:
            raise InvalidInput("out", self.path, f"an empty folder or one with tables; it holds {strange[0]}")
        known = self.mark() if strange else None
        if known is not None and known.get("format") != FORMAT:
            raise InvalidInput("out", self.path, f"tables of format {FORMAT}, not {known.get('format')}")


def settle(folder: Path) -> None:
    """Remove what Spark left beside its files, and bring them to the disk."""
    for pattern in LITTER:
        for path in folder.rglob(pattern):
            path.unlink()
    for path in folder.rglob("*.parquet"):
        sync(path)
    sync(folder)


def exchange(first: Path, second: Path) -> None:
    """Let two folders take each other's names: at once, where the file system can."""
    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    names = os.fsencode(first), os.fsencode(second)
    if call is not None and call(AT_FDCWD, names[0], AT_FDCWD, names[1], RENAME_EXCHANGE) == 0:
        return
    problem = errno.ENOSYS if call is None else ctypes.get_errno()
    if problem not in (errno.ENOSYS, errno.EINVAL):
        raise OSError(problem, os.strerror(problem), str(second))
    aside = first.with_name(f"{first.name}.old")
    second.rename(aside)
    first.rename(second)
    aside.rename(first)


def remove(path: Path) -> None:
    """A folder with all in it, or a file; nothing if there is none."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def write_files(folder: Path, files: Iterable[BadFile]) -> None:
    """The files that were left out, as a table."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds = {"file": pa.string(), "reason": pa.string(), "detail": pa.string(), "rows": pa.int64()}
    rows = [(each.name, each.reason, each.detail, each.rows) for each in files]
    columns = [[row[n] for row in rows] for n in range(len(kinds))]
    table = pa.table(
        [pa.array(column, kind) for column, kind in zip(columns, kinds.values(), strict=True)],
        schema=pa.schema(kinds.items()),
    )
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, folder / Path(FILES).name)


def read_files(out: Path) -> list[BadFile]:
    """The files that were left out of the tables in a folder."""
    import pyarrow.parquet as pq

    from giusto.pipeline.tables.files import BadFile

    path = out / FILES
    rows = pq.read_table(path).to_pylist() if path.exists() else []
    return [BadFile(Path(row["file"]), row["reason"], row["detail"], row["rows"]) for row in rows]


def named(files: Sequence[BadFile]) -> str:
    """The first few files that were left out, with what is wrong."""
    shown = [f"{file.name} ({file.reason}: {file.detail.rstrip('.')})" for file in files[:NAMED]]
    more = len(files) - len(shown)
    return ", ".join(shown) + (f" and {more:,} more" if more else "")


def write_json(path: Path, value: Any) -> None:
    """All of it under its name, or nothing."""
    unfinished = path.with_name(f".new-{path.name}")
    with unfinished.open("w", encoding="utf-8") as file:
        json.dump(value, file, indent=2, ensure_ascii=False)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)
    sync(path.parent)


def read_json(path: Path) -> Any:
    """What was written, or None if nothing was."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise InvalidInput("out", path, f"JSON as giusto writes it: {error}") from None


def sync(path: Path) -> None:
    """Bring a file or the names in a folder to the disk."""
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
