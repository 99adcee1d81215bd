"""Which rows of a stream are settled, which wait, and which came too late: a state machine without I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from giusto.pipeline.tables.bronze import LONGEST_NS
from giusto.pipeline.tables.table import SLICE_NS

LATE = "late"
# A run of which nothing comes any more does not hold its last rows for ever.
IDLE_S = 60.0


@dataclass(frozen=True, slots=True)
class Group:
    """Rows of one file and slice that a micro-batch brought: how many, and when the last of them was sent."""

    file: str
    run: str
    slice: int
    reason: str | None
    rows: int
    newest_ns: int


@dataclass(frozen=True, slots=True)
class State:
    """All that a stream knows after a micro-batch; the rows themselves are in files.

    `settled` is, for each run, the first slice that is not settled. `waiting` counts rows by run and slice;
    `files` has, for each file that some of them are in, the last slice of each run in it; those that are
    `mixed` have bad rows as well. Files that are `leaving` have no such rows since this micro-batch; `gone`
    are those that left with the one before, which Spark will not ask for again. `far_ns` is the time of rows
    that are sent so long after `newest_ns` that it takes a second file to believe them. Some deliveries are
    `forgotten`, not kept any more: those in the files `forgetting` since this micro-batch.
    """

    batch: int = -1
    query: str | None = None
    newest_ns: dict[str, int] = field(default_factory=dict)
    far_ns: dict[str, int] = field(default_factory=dict)
    seen_s: dict[str, float] = field(default_factory=dict)
    settled: dict[str, int] = field(default_factory=dict)
    waiting: dict[str, dict[int, int]] = field(default_factory=dict)
    files: dict[str, dict[str, int]] = field(default_factory=dict)
    mixed: tuple[str, ...] = ()
    leaving: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    bad: tuple[str, ...] = ()
    records: int = 0
    used: int = 0
    duplicates: int = 0
    quarantined: dict[str, int] = field(default_factory=dict)
    forgotten: int = 0
    forgetting: tuple[str, ...] = ()

    @property
    def pending_rows(self) -> int:
        """Rows of slices that have not ended."""
        return sum(rows for slices in self.waiting.values() for rows in slices.values())

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any]) -> State:
        """From JSON, where keys are texts."""
        waiting = {
            run: {int(number): rows for number, rows in slices.items()}
            for run, slices in kept["waiting"].items()
        }
        names = ("mixed", "leaving", "gone", "parts", "bad", "forgetting")
        lists = {name: tuple(kept.get(name, ())) for name in names}
        return cls(**{**kept, **lists, "waiting": waiting})


@dataclass(frozen=True, slots=True)
class Step:
    """What a micro-batch changes: the state after it, and what is to be settled for it.

    `settles` has the slices of each run, from the first up to but without the second; `came` are the files.
    Some of the rows in them, or in those before, are bad if it `is_mixed`; `bad` are those of which now some
    rows are left out.
    """

    state: State
    settles: dict[str, tuple[int, int]]
    came: tuple[str, ...]
    is_mixed: bool
    bad: tuple[str, ...]


def step(before: State, batch: int, groups: Iterable[Group], delay_ns: int, now_s: float) -> Step:
    """A micro-batch brings these rows."""
    groups = list(groups)
    good = [group for group in groups if why_not(before, group) is None]
    quarantined = dict(before.quarantined)
    for group in groups:
        reason = why_not(before, group)
        if reason is not None:
            quarantined[reason] = quarantined.get(reason, 0) + group.rows
    newest, far = believed(before, good)
    seen_s = {**before.seen_s, **{group.run: now_s for group in good}}
    waiting = added(before.waiting, good)
    ends = {run: end(newest[run], waiting[run], delay_ns, now_s - seen_s[run]) for run in waiting}
    settles = {
        run: (before.settled.get(run, 0), until)
        for run, until in ends.items()
        if any(number < until for number in waiting[run])
    }
    settled = {**before.settled, **{run: until for run, (_, until) in settles.items()}}
    came = tuple(sorted({group.file for group in groups}))
    files = held(before.files, good, settled)
    mixed = {*before.mixed, *(group.file for group in groups if group.reason is not None)}
    state = State(
        batch=batch,
        query=before.query,
        newest_ns=newest,
        far_ns=far,
        seen_s=seen_s,
        settled=settled,
        waiting=remaining(waiting, settled),
        files=files,
        mixed=tuple(sorted(name for name in mixed if name in files)),
        leaving=tuple(sorted({*before.files, *came} - set(files))),
        gone=before.leaving,
        parts=before.parts,
        bad=before.bad,
        records=before.records + sum(group.rows for group in groups),
        used=before.used,
        duplicates=before.duplicates,
        quarantined=quarantined,
        forgotten=before.forgotten,
    )
    bad = sorted({group.file for group in groups if why_not(before, group) is not None})
    return Step(state, settles, came, bool(mixed), tuple(bad))


def why_not(state: State, group: Group) -> str | None:
    """Why rows are not used, if they are not."""
    if group.reason is not None:
        return group.reason
    return LATE if group.slice < state.settled.get(group.run, 0) else None


def end(newest_ns: int, slices: Mapping[int, int], delay_ns: int, idle_s: float) -> int:
    """The first slice that has to wait still: all before it have ended."""
    if idle_s < IDLE_S:
        return max(0, newest_ns - delay_ns) // SLICE_NS
    near = [number for number in slices if number * SLICE_NS <= newest_ns]
    return max(near, default=-1) + 1


def believed(before: State, good: Iterable[Group]) -> tuple[dict[str, int], dict[str, int]]:
    """When the newest row of each run was sent, and when those were that are too far from it.

    One row with a broken clock must not end all slices of its run, and a run that was silent for days must
    go on: rows far ahead wait, and move the run on once another file has such rows, too.
    """
    newest, far = dict(before.newest_ns), dict(before.far_ns)
    said_by: dict[str, str] = {}
    for group in sorted(good, key=lambda group: group.newest_ns):
        run, sent_ns = group.run, group.newest_ns
        if sent_ns - newest.setdefault(run, sent_ns) <= LONGEST_NS:
            newest[run] = max(newest[run], sent_ns)
        elif run in far and said_by.get(run) != group.file and abs(sent_ns - far[run]) <= LONGEST_NS:
            newest[run] = sent_ns
            del far[run]
        else:
            far[run], said_by[run] = sent_ns, group.file
    return newest, far


def added(waiting: Mapping[str, Mapping[int, int]], good: Iterable[Group]) -> dict[str, dict[int, int]]:
    """Rows by run and slice, with those that came."""
    found = {run: dict(slices) for run, slices in waiting.items()}
    for group in good:
        slices = found.setdefault(group.run, {})
        slices[group.slice] = slices.get(group.slice, 0) + group.rows
    return found


def remaining(
    waiting: Mapping[str, Mapping[int, int]], settled: Mapping[str, int]
) -> dict[str, dict[int, int]]:
    """Rows that are not settled."""
    found = {
        run: {number: rows for number, rows in slices.items() if number >= settled.get(run, 0)}
        for run, slices in waiting.items()
    }
    return {run: slices for run, slices in found.items() if slices}


def held(
    files: Mapping[str, Mapping[str, int]], good: Iterable[Group], settled: Mapping[str, int]
) -> dict[str, dict[str, int]]:
    """Files that have rows which are not settled."""
    found = {name: dict(last) for name, last in files.items()}
    for group in good:
        last = found.setdefault(group.file, {})
        last[group.run] = max(last.get(group.run, 0), group.slice)
    return {
        name: last
        for name, last in found.items()
        if any(number >= settled.get(run, 0) for run, number in last.items())
    }
