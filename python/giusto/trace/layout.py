"""What a trace folder holds and what the files in it are called.

    DIR/records/<node>-<run>-<00000001>.parquet   records, whole files only
    DIR/manifest/<node>-<run>.jsonl               which files there are, and what was not kept and why
    DIR/facts/<node>-<run>-<00000001>.json        what the records alone do not say, from an instant on

`<run>` is the run's name, or its beginning and a digest of it. A file that is being written is called
`.<name>.tmp`.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path

RECORDS = "records"
MANIFEST = "manifest"
FACTS = "facts"
METADATA_KEY = b"giusto.trace"
RUN_CHARACTERS = 32
"""A longer name of a run is cut, and so is none that brokers give themselves."""

_FOREIGN = re.compile(r"[^A-Za-z0-9_.]+")
_FILE = re.compile(r"(?P<prefix>.+)-(?P<sequence>[0-9]{8,})\.(parquet|json)")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFacts:
    """What a file of records says of itself. It is known by run, node and sequence, whatever it is called."""

    run: str
    node: str
    sequence: int
    rows: int
    first_ns: int | None
    last_ns: int | None
    wall_offset_ns: int
    sampling: int

    def to_metadata(self) -> bytes:
        """As it stands in the file."""
        return json.dumps(asdict(self)).encode()


def prefix_of(node: str, run: str) -> str:
    """How the names of all files of a run at a node begin, without what file systems do not like."""
    return f"{_plain(node)}-{_run(run)}"


def node_prefix(node: str) -> str:
    """How the names of all files of a node begin."""
    return f"{_plain(node)}-"


def records_name(prefix: str, sequence: int) -> str:
    """The name of a file of records."""
    return f"{prefix}-{sequence:08d}.parquet"


def facts_name(prefix: str, sequence: int) -> str:
    """The name of a file of facts."""
    return f"{prefix}-{sequence:08d}.json"


def manifest_name(prefix: str) -> str:
    """The name of the manifest of a run at a node."""
    return f"{prefix}.jsonl"


def unfinished_name(name: str) -> str:
    """What a file is called while it is written."""
    return f".{name}.tmp"


def run_prefix(name: str) -> str | None:
    """The prefix of the run that a file of records or facts is of, unfinished or not; none if it is none."""
    found = _FILE.fullmatch(name.removeprefix(".").removesuffix(".tmp"))
    return None if found is None else found["prefix"]


def number_of(name: str) -> int:
    """The number of a file of records or facts, unfinished or not; 0 if it is no such file."""
    found = _FILE.fullmatch(name.removeprefix(".").removesuffix(".tmp"))
    return 0 if found is None else int(found["sequence"])


def is_trace(folder: Path) -> bool:
    """Whether a folder is a trace folder, and not a plain folder of files."""
    return (folder / RECORDS).is_dir()


def _run(name: str) -> str:
    """No two runs are called the same: where letters are lost, a digest tells them apart."""
    plain = _plain(name)
    if plain == name and len(name) <= RUN_CHARACTERS:
        return name
    return f"{plain[: RUN_CHARACTERS - 8]}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def _plain(name: str) -> str:
    return _FOREIGN.sub("_", name)[:80] or "_"
