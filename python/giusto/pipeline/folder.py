"""Where the results of a sweep are kept: Parquet files that appear whole, or not at all.

    sweep.json          what was run: the experiment and the fingerprint of its code, the parameters
    cases.parquet       which cases it has
    results/*.parquet   one row per case that gave numbers
    failures/*.parquet  one row per case that failed
    summary.parquet     means and confidence intervals of the last look

A file is written under another name, brought to the disk and renamed. Names with a dot are nobody's: Spark
does not read them, and the next writer removes them. Every file says which sweep it belongs to.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from giusto.errors import InvalidInput
from giusto.pipeline.cases import CASE, ERROR, SECONDS, TRACE, Cases, made, schema

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = 1
MANIFEST, CASES, SUMMARY = "sweep.json", "cases.parquet", "summary.parquet"
RESULTS, FAILURES = "results", "failures"
OWNER = b"giusto.sweep"


class Folder:
    """A folder with one sweep in it, or none yet."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.manifest: dict[str, Any] | None = self._read_manifest()
        self._is_writer = False

    @property
    def results(self) -> Path:
        """Where the numbers are."""
        return self.path / RESULTS

    @property
    def kinds(self) -> dict[str, str]:
        """The parameters of the sweep here, and what their values are."""
        return dict(self.required()["parameters"])

    def required(self) -> dict[str, Any]:
        """What was run here; there must be a sweep."""
        if self.manifest is None:
            raise InvalidInput("out", self.path, "a folder with a sweep in it")
        return self.manifest

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Be the only writer; the folder is made if need be."""
        self.path.mkdir(parents=True, exist_ok=True)
        lock = os.open(self.path / ".lock", os.O_CREAT | os.O_RDWR, 0o644)
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise InvalidInput("out", self.path, "a folder that no other sweep writes just now") from None
            self.manifest = self._read_manifest()
            self._is_writer = True
            self._remove_unfinished()
            yield
        finally:
            self._is_writer = False
            os.close(lock)

    def require_room(self, fingerprint: Mapping[str, str], cases: Cases, resume: bool) -> None:
        """Refuse a folder that holds something else, or the same if it is not to be gone on with."""
        if self.manifest is None:
            self._require_empty()
        elif not resume:
            raise InvalidInput("out", self.path, "a new folder; this one has a sweep, which can be resumed")
        else:
            self._require_same(fingerprint, cases)

    def begin(self, fingerprint: Mapping[str, str], cases: Cases) -> None:
        """Write down what will be run."""
        if self.manifest is None:
            manifest = {"format": FORMAT, **fingerprint, "parameters": cases.kinds}
            self._write_bytes(MANIFEST, (json.dumps(manifest, indent=2) + "\n").encode())
            self.manifest = manifest
        for name in (RESULTS, FAILURES):
            (self.path / name).mkdir(exist_ok=True)
        known = self.cases()
        rows = {**({} if known is None else known.rows), **cases.rows}
        self._write_table(CASES, Cases(cases.kinds, rows).table())

    def cases(self) -> Cases | None:
        """All cases that were asked for so far, if any were."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        if not (self.path / CASES).exists():
            return None
        try:
            return made(pq.read_table(self.path / CASES).select(list(self.kinds)))
        except (pa.ArrowInvalid, OSError, KeyError) as error:
            raise InvalidInput("out", self.path / CASES, f"the cases of this sweep: {error}") from None

    def finished(self) -> set[str]:
        """The cases that have a result. A file that cannot be read is put aside by the writer."""
        return {digest for table in self._tables(RESULTS) for digest in table.column(CASE).to_pylist()}

    def failed(self) -> dict[str, dict[str, Any]]:
        """The cases that failed and were not run well since, with parameters, error and trace."""
        finished = self.finished()
        rows = [row for table in self._tables(FAILURES) for row in table.to_pylist()]
        return {row[CASE]: row for row in rows if row[CASE] not in finished}

    def append(self, cases: Cases, landed: Iterable[tuple[str, Any]]) -> None:
        """Keep outcomes: those that failed, then those that gave numbers."""
        outcomes = list(landed)
        good = [(digest, outcome) for digest, outcome in outcomes if outcome.error is None]
        bad = [(digest, outcome) for digest, outcome in outcomes if outcome.error is not None]
        if bad:
            extra = {ERROR: [each.error for _, each in bad], TRACE: [each.trace for _, each in bad]}
            self._append(FAILURES, cases, bad, extra)
        if good:
            names = sorted({name for _, each in good for name in each.values})
            values = {name: [each.values.get(name) for _, each in good] for name in names}
            self._append(RESULTS, cases, good, values)

    def result_schema(self) -> pa.Schema:
        """The columns of all results together: a number that some runs lack is null there."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        names = {name for part in self._parts(RESULTS) for name in pq.read_schema(part).names}
        known = [CASE, *self.kinds, SECONDS]
        numbers = [pa.field(name, pa.float64()) for name in sorted(names - set(known))]
        return pa.schema([*schema(self.kinds), pa.field(SECONDS, pa.float64()), *numbers])

    def write_summary(self, table: pa.Table) -> None:
        """Keep the last look."""
        self._write_table(SUMMARY, table)

    def read_summary(self) -> pa.Table | None:
        """The last look, if there is one; a file that is damaged or of another sweep is none."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            found = pq.read_table(self.path / SUMMARY, page_checksum_verification=True)
        except (pa.ArrowException, OSError):
            return None
        return found if (found.schema.metadata or {}).get(OWNER) == self._owner() else None

    def _append(
        self, place: str, cases: Cases, outcomes: list[tuple[str, Any]], columns: Mapping[str, list[Any]]
    ) -> None:
        import pyarrow as pa

        table = cases.table(digest for digest, _ in outcomes)
        table = table.append_column(SECONDS, pa.array([each.seconds for _, each in outcomes], pa.float64()))
        kind = pa.float64() if place == RESULTS else pa.string()
        for name, values in columns.items():
            table = table.append_column(name, pa.array(values, kind))
        last = max((int(part.stem.removeprefix("part-")) for part in self._parts(place)), default=0)
        self._write_table(f"{place}/part-{last + 1:06}.parquet", table)

    def _parts(self, place: str) -> list[Path]:
        return sorted((self.path / place).glob("part-*.parquet"))

    def _tables(self, place: str) -> list[pa.Table]:
        """The files of one kind; every one is whole, and of this sweep."""
        found = (self._table(part) for part in self._parts(place))
        return [table for table in found if table is not None]

    def _table(self, part: Path) -> pa.Table | None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            found = pq.read_table(part, page_checksum_verification=True)
        except (pa.ArrowInvalid, OSError):
            if not self._is_writer:
                raise InvalidInput("out", part, "a file that can be read: resume the sweep") from None
            part.rename(part.with_name(f".damaged-{part.name}"))
            return None
        if (found.schema.metadata or {}).get(OWNER) != self._owner():
            raise InvalidInput("out", part, "results of this sweep alone; this file came from elsewhere")
        return found

    def _owner(self) -> bytes:
        """The name of the sweep, in each of its files."""
        text = json.dumps(self.required(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest().encode()

    def _require_same(self, fingerprint: Mapping[str, str], cases: Cases) -> None:
        held = self.required()
        for what, value in fingerprint.items():
            if held.get(what) != value:
                differs = f"it holds {held.get(what)}, not {value}; name another folder"
                raise InvalidInput("out", self.path, f"results of the same {what}: {differs}")
        if held["parameters"] != cases.kinds:
            differs = f"it holds {described(held['parameters'])}, not {described(cases.kinds)}"
            raise InvalidInput("out", self.path, f"the same parameters: {differs}; name another folder")

    def _require_empty(self) -> None:
        strange = sorted(path.name for path in self.path.iterdir() if not path.name.startswith("."))
        if strange:
            raise InvalidInput(
                "out", self.path, f"an empty folder or one with a sweep; it holds {strange[0]}"
            )

    def _read_manifest(self) -> dict[str, Any] | None:
        path = self.path / MANIFEST
        if not path.exists():
            return None
        try:
            manifest = json.loads(path.read_text(encoding="utf-8"))
            parameters, version = dict(manifest["parameters"]), manifest["format"]
        except (ValueError, KeyError, TypeError) as error:
            raise InvalidInput("out", path, f"the description of a sweep: {error}") from None
        if version != FORMAT:
            raise InvalidInput(
                "out", path, f"format {FORMAT}, not {version}: read it with the giusto that wrote it"
            )
        return {**manifest, "parameters": parameters}

    def _remove_unfinished(self) -> None:
        for place in (self.path, self.path / RESULTS, self.path / FAILURES):
            for path in place.glob(".new-*"):
                path.unlink()

    def _write_table(self, name: str, table: pa.Table) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        metadata = {**(table.schema.metadata or {}), OWNER: self._owner()}
        buffer = pa.BufferOutputStream()
        pq.write_table(table.replace_schema_metadata(metadata), buffer, write_page_checksum=True)
        self._write_bytes(name, buffer.getvalue())

    def _write_bytes(self, name: str, data: Any) -> None:
        """All of it under its name, or nothing."""
        path = self.path / name
        unfinished = path.with_name(f".new-{path.name}")
        with unfinished.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def described(kinds: Mapping[str, str]) -> str:
    """Parameters for people."""
    return ", ".join(f"{name} ({kind})" for name, kind in kinds.items())
