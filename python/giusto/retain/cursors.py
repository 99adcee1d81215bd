"""How far each query has read: a small file, replaced whole; a crash leaves the old or the new one."""

from __future__ import annotations

import json
import os
from pathlib import Path

from giusto.errors import InvalidInput, NotRetained

FILE = "cursors.json"
QUERIES_MAX = 1_000
NAME_MAX = 200


class Cursors:
    """The position behind the last row that each query has done with."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self._positions, self._seen_ns = self._load()

    @property
    def positions(self) -> dict[str, int]:
        """By query."""
        return dict(self._positions)

    @property
    def least(self) -> int | None:
        """What all queries have done with; none if there is no query."""
        return min(self._positions.values(), default=None)

    def move(self, query: str, position: int, wall_ns: int) -> None:
        """A query has done with all before `position`; a cursor never goes back."""
        require_name(query)
        if query not in self._positions and len(self._positions) >= QUERIES_MAX:
            expected = f"at most {QUERIES_MAX} queries; those that were not heard of for a week are forgotten"
            raise InvalidInput("query", query, expected)
        self._positions[query] = max(position, self._positions.get(query, 0))
        self._seen_ns[query] = wall_ns
        self._save()

    def forget_before(self, wall_ns: int) -> list[str]:
        """Drop the queries that were not heard of since; which they are."""
        gone = [query for query, seen_ns in self._seen_ns.items() if seen_ns < wall_ns]
        for query in gone:
            del self._positions[query], self._seen_ns[query]
        if gone:
            self._save()
        return gone

    def _load(self) -> tuple[dict[str, int], dict[str, int]]:
        try:
            found = json.loads(self._path.read_text(encoding="utf-8"))
            positions = {query: int(one["position"]) for query, one in found.items()}
            return positions, {query: int(one["seen_ns"]) for query, one in found.items()}
        except FileNotFoundError:
            return {}, {}
        except (AttributeError, KeyError, TypeError, ValueError):
            raise NotRetained(str(self._path), "not a file of cursors; remove it to start anew") from None

    def _save(self) -> None:
        whole = {
            query: {"position": position, "seen_ns": self._seen_ns[query]}
            for query, position in self._positions.items()
        }
        replace(self._path, json.dumps(whole))


def require_name(query: str) -> None:
    """Refuse what cannot be the name of a query."""
    if not 0 < len(query) <= NAME_MAX:
        raise InvalidInput("query", f"{len(query)} characters", f"a name of 1 to {NAME_MAX} characters")


def replace(path: Path, text: str) -> None:
    """Write a small file so that it is the old or the new one after a crash, never half."""
    beside = path.with_name(f".{path.name}.tmp")
    with beside.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
