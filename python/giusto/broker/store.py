"""Contracts on disk: one transaction for each change, synced before the client hears of it.

The file is SQLite with a rollback journal: a change is there as a whole or not at all, also after a crash. A
write-ahead log would do for that too, but what follows a damaged bit in it is gone without a word. A row that
is not as it was written is left out and named. A file that is damaged or empty is moved aside, and what is
whole of it is kept in a new one. A database of another program is left alone.
"""

from __future__ import annotations

import fcntl
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import IO

from giusto.broker.leaves import rows_in
from giusto.broker.rows import Kept, Row, kept_in, row_of
from giusto.broker.salvage import DAMAGE, Salvaged, row_in, salvage
from giusto.contract import show_ns
from giusto.errors import InvalidInput, NotKept

SCHEMA = 1
"""The version of the layout; a file says which one it has (`user_version`)."""

APPLICATION = 0x67697573
"""Whose file it is (`application_id`): "gius"."""

_TABLE = """
CREATE TABLE IF NOT EXISTS kept (
    place INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    body BLOB NOT NULL,
    digest BLOB NOT NULL
)"""
_BESIDE = ("-journal", "-wal", "-shm")
"""What SQLite may have beside a file."""
_INSERT = "INSERT INTO kept (name, body, digest) VALUES (?, ?, ?)"


class Store:
    """The contracts of one broker. `remarks` are what was found wrong when it was opened.

    One that is `alone` refuses a file that another has opened so: two brokers would undo each other's rows.
    """

    def __init__(self, path: str | Path, *, alone: bool = False) -> None:
        self.path = Path(path)
        self.remarks: list[str] = []
        self.is_new = not self.path.exists()
        self._lock = self._claim() if alone else None
        self._database = self._open()

    def load(self) -> list[Kept]:
        """All that is kept, the oldest first. What is damaged is dropped, and named in `remarks`."""
        found, damaged = [], []
        for row in self._rows():
            kept = kept_in(row)
            if kept is None:
                damaged.append(row.name)
            else:
                found.append(kept)
        if damaged:
            self.remarks.append(f"{self.path}: dropped what was damaged: {', '.join(damaged)}")
            self._write((), damaged)
        return found

    def change(self, added: Sequence[Kept], gone: Iterable[str]) -> None:
        """Keep some values, and forget what is kept under some names; all of it, or raises `NotKept`."""
        self._write([row_of(kept) for kept in added], list(gone))

    def remark(self, restored: int, reserve_ns: int) -> str:
        """What a broker says at start of a store from which so much was restored."""
        found = f"{restored} restored, waiting {show_ns(reserve_ns)} for their clients"
        empty = "new, empty" if self.is_new else "none restored"
        return f"contracts kept in {self.path.absolute()}: {found if restored else empty}"

    def close(self) -> None:
        """Close the file."""
        self._database.close()
        if self._lock is not None:
            self._lock.close()

    def _claim(self) -> IO[bytes]:
        """A lock that goes with the process, however that ends."""
        beside = self.path.with_name(f"{self.path.name}.lock")
        try:
            lock = beside.open("ab")
        except OSError as error:
            expected = f"a file that can be written, in a directory that exists ({error.strerror})"
            raise InvalidInput("guarantee.store", self.path, expected) from None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.close()
            expected = "a file of its own for each broker: another one has this"
            raise InvalidInput("guarantee.store", self.path, expected) from None
        return lock

    def _write(self, rows: Sequence[Row], gone: Sequence[str]) -> None:
        try:
            with self._database:
                names = [(name,) for name in (*gone, *(row.name for row in rows))]
                self._database.executemany("DELETE FROM kept WHERE name = ?", names)
                self._database.executemany(_INSERT, rows)
        except sqlite3.Error as error:
            raise NotKept(str(self.path), str(error)) from None

    def _rows(self) -> list[Row]:
        try:
            return _rows_of(self._database)
        except DAMAGE as error:
            self._database.close()
            self._replace(str(error))
            self._database = self._connect(self.path)
            return _rows_of(self._database)

    # --- opening

    def _open(self) -> sqlite3.Connection:
        self._finish_replacing()
        try:
            if not self.path.exists():
                self._make()
            elif not self.path.stat().st_size:
                raise sqlite3.DatabaseError("it is empty")
            return self._connect(self.path)
        except (OSError, sqlite3.OperationalError) as error:
            expected = f"a file that can be written, in a directory that exists ({error})"
            raise InvalidInput("guarantee.store", self.path, expected) from None
        except DAMAGE as error:
            self._replace(str(error))
            return self._connect(self.path)

    def _make(self) -> None:
        """A file that is there is finished: an empty one is not what the first start left of it."""
        new = self.path.with_name(f"{self.path.name}.new")
        _fill(new, ())
        self._put(new)

    def _connect(self, path: Path) -> sqlite3.Connection:
        database = _opened(path)
        try:
            self._require_ours(database)
            _prepare(database)
        except BaseException:
            database.close()
            raise
        return database

    def _require_ours(self, database: sqlite3.Connection) -> None:
        """Raise `InvalidInput` for a file of somebody else, before anything of it is changed."""
        (application,) = database.execute("PRAGMA application_id").fetchone()
        (version,) = database.execute("PRAGMA user_version").fetchone()
        (tables,) = database.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        if application != APPLICATION and tables:
            expected = "a file of its own: this is a database of another program"
            raise InvalidInput("guarantee.store", self.path, expected)
        if version > SCHEMA:
            expected = (
                f"a store of version {SCHEMA}, but this one is of version {version}: start the newer giusto "
                "that wrote it, or name another file"
            )
            raise InvalidInput("guarantee.store", self.path, expected)

    # --- a file that is damaged

    @property
    def _new(self) -> Path:
        return self.path.with_name(f"{self.path.name}.salvaged")

    def _replace(self, problem: str) -> None:
        """Move a damaged file aside; what is whole of it is in a new one, which is finished before that."""
        try:
            salvaged = self._salvage()
            aside = self._put_aside()
            self._finish_replacing()
        except (OSError, *DAMAGE) as error:
            expected = (
                f"a store that is whole: this one is damaged ({problem}) and cannot be replaced ({error}); "
                "let the broker write in its directory, or name another file"
            )
            raise InvalidInput("guarantee.store", self.path, expected) from None
        self.remarks.append(
            f"{self.path} was damaged ({problem}): it is {aside} now; of what was kept {_stands(salvaged)}"
        )

    def _salvage(self) -> Salvaged:
        with closing(_opened(self.path)) as database:
            salvaged = salvage(database)
        if not salvaged.rows:
            rows = rows_in(self.path.read_bytes())
            salvaged = Salvaged(rows, salvaged.lost - {row.name for row in rows}, salvaged.is_complete)
        _fill(self._new, salvaged.rows)
        return salvaged

    def _put_aside(self) -> Path:
        number = 1
        while (aside := self.path.with_name(f"{self.path.name}.damaged-{number}")).exists():
            number += 1
        # What is beside it follows: without that the file would pass for whole, and lack what is there.
        self.path.rename(aside)
        _move_beside(self.path, aside)
        return aside

    def _finish_replacing(self) -> None:
        """Also of a process that ended when the damaged file had been moved, and the new one had not."""
        if self._new.exists() and not self.path.exists():
            self._put(self._new)

    def _put(self, new: Path) -> None:
        """A new file in its place. A journal of an old one there would be played back into it."""
        _move_beside(self.path, self.path.with_name(f"{self.path.name}.damaged"))
        new.rename(self.path)


def _opened(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path, check_same_thread=False, timeout=1)
    # Text that is none any more is damage, which the digest of its row says.
    database.text_factory = lambda text: text.decode(errors="replace")
    return database


def _move_beside(path: Path, aside: Path) -> None:
    for suffix in _BESIDE:
        beside = path.with_name(path.name + suffix)
        if beside.exists():
            beside.rename(aside.with_name(aside.name + suffix))


def _fill(path: Path, rows: Iterable[Row]) -> None:
    """A new store with some rows, in the place of what an earlier try left."""
    for suffix in ("", *_BESIDE):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    with closing(_opened(path)) as database:
        _prepare(database)
        with database:
            database.executemany(_INSERT.replace("INSERT", "INSERT OR REPLACE"), rows)
    path.with_name(f"{path.name}-journal").unlink(missing_ok=True)


def _prepare(database: sqlite3.Connection) -> None:
    database.execute("PRAGMA journal_mode = TRUNCATE")
    database.execute("PRAGMA synchronous = FULL")
    (problem,) = database.execute("PRAGMA integrity_check(1)").fetchone()
    if problem != "ok":
        raise sqlite3.DatabaseError(problem)
    with database:
        # In one transaction, or a file could have the table and not say whose it is.
        database.execute("BEGIN")
        database.execute(_TABLE)
        database.execute(f"PRAGMA application_id = {APPLICATION}")
        database.execute(f"PRAGMA user_version = {SCHEMA}")


def _rows_of(database: sqlite3.Connection) -> list[Row]:
    found = database.execute("SELECT name, body, digest FROM kept ORDER BY place")
    return [row_in(*columns) for columns in found]


def _stands(salvaged: Salvaged) -> str:
    """How much of a damaged store could be saved."""
    stands = f"{len(salvaged.rows)} stand{'s' * (len(salvaged.rows) == 1)}"
    if not salvaged.is_complete:
        return f"{stands}; what is missing cannot be told"
    lost = f", lost: {', '.join(sorted(salvaged.lost))}" if salvaged.lost else ", nothing is lost"
    return stands + lost
