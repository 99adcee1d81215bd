"""Contracts on disk: one transaction for each change, synced before the client hears of it.

The file is SQLite with a write-ahead log: a change is there as a whole or not at all, also after a crash. A
row that is not as it was written is left out and named. A file that is no store is moved aside, never used.
"""

from __future__ import annotations

import fcntl
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO

from giusto.broker.rows import Kept, Row, kept_in, row_of
from giusto.errors import InvalidInput, NotKept

SCHEMA = 1
"""The version of the layout; a file says which one it has (`user_version`)."""

_TABLE = """
CREATE TABLE IF NOT EXISTS kept (
    place INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    body BLOB NOT NULL,
    digest BLOB NOT NULL
)"""
_INSERT = "INSERT INTO kept (name, body, digest) VALUES (?, ?, ?)"


class Store:
    """The contracts of one broker. `remarks` are what was found wrong when it was opened.

    One that is `alone` refuses a file that another has opened so: two brokers would undo each other's rows.
    """

    def __init__(self, path: str | Path, *, alone: bool = False) -> None:
        self.path = Path(path)
        self.remarks: list[str] = []
        self._lock = self._claim() if alone else None
        self._database = self._open()

    def load(self) -> list[Kept]:
        """All that is kept, the oldest first. What is damaged is dropped, and named in `remarks`."""
        rows = [Row(str(name), _bytes(body), _bytes(digest)) for name, body, digest in self._rows()]
        found, damaged = [], []
        for row in rows:
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

    def _rows(self) -> list[tuple[object, object, object]]:
        try:
            return self._database.execute("SELECT name, body, digest FROM kept ORDER BY place").fetchall()
        except sqlite3.DatabaseError as error:
            self._database.close()
            self._put_aside(str(error))
            self._database = self._open()
            return []

    def _open(self) -> sqlite3.Connection:
        try:
            return self._connect()
        except sqlite3.OperationalError as error:
            expected = f"a file that can be written, in a directory that exists ({error})"
            raise InvalidInput("guarantee.store", self.path, expected) from None
        except sqlite3.DatabaseError as error:
            self._put_aside(str(error))
            return self._connect()

    def _connect(self) -> sqlite3.Connection:
        database = sqlite3.connect(self.path, check_same_thread=False, timeout=1)
        try:
            self._prepare(database)
        except BaseException:
            database.close()
            raise
        return database

    def _prepare(self, database: sqlite3.Connection) -> None:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = FULL")
        (version,) = database.execute("PRAGMA user_version").fetchone()
        if version > SCHEMA:
            expected = (
                f"a store of version {SCHEMA}, but this one is of version {version}: start the newer giusto "
                "that wrote it, or name another file"
            )
            raise InvalidInput("guarantee.store", self.path, expected)
        (problem,) = database.execute("PRAGMA quick_check(1)").fetchone()
        if problem != "ok":
            raise sqlite3.DatabaseError(problem)
        with database:
            database.execute(_TABLE)
            database.execute(f"PRAGMA user_version = {SCHEMA}")

    def _put_aside(self, problem: str) -> None:
        """Rename what is no store, with what belongs to it."""
        number = 1
        while (aside := self.path.with_name(f"{self.path.name}.damaged-{number}")).exists():
            number += 1
        self.path.rename(aside)
        for suffix in ("-wal", "-shm"):
            beside = self.path.with_name(self.path.name + suffix)
            if beside.exists():
                beside.rename(aside.with_name(aside.name + suffix))
        self.remarks.append(
            f"{self.path} cannot be read ({problem}): it is {aside} now, and nothing is kept of it"
        )


def _bytes(value: object) -> bytes:
    return value if isinstance(value, bytes) else b""
