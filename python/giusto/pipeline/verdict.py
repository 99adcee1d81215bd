"""What the tables come to: contracts that held, deliveries that broke theirs, what was lost or left out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

MADE = ("arrived", "verdict")
"""What follows from the rest."""
HELD, VIOLATED, UNCERTAIN, UNPROMISED = "held", "violated", "uncertain", "no promises"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The first thing to read; everything else is in the tables.

    `with_bound` is how many deliveries something was promised for, and `largest_ratio` what was observed as a
    part of that, at most; `proved_ratio` as a part of the bound that was proved, where that is known.
    `arrived` are those of the `deliveries` that came; `losses` are the others, by reason. `records` is every
    row of every file that could be read: it is `used` + `duplicates` + the rows in `quarantined`, by reason.
    `quarantined_files` are files that were left out as a whole, by reason.
    `dropped` is what never reached a file, or was removed, as the writers of the records say; `written` is
    what did reach one, if they say anything, and `unended` counts those of them that had not ended. Of a
    stream, `pending` rows are used already, but of slices that have not ended; `state_bytes` is what it keeps
    to go on; `forgotten` are those of the deliveries that are too old to be in the table still.
    `gaps` are runs of which records are missing, by name: one message in `sampling` was recorded, and of
    those so many records were `dropped`, by reason.
    """

    runs: list[str]
    records: int
    used: int
    deliveries: int
    contracts: int
    violations: int
    uncertain: int
    misses: int
    largest_ratio: float | None
    losses: dict[str, int]
    quarantined: dict[str, int]
    quarantined_files: dict[str, int]
    duplicates: int
    dropped: dict[str, int]
    with_bound: int = 0
    proved_ratio: float | None = None
    written: int | None = None
    unended: int = 0
    pending: int = 0
    forgotten: int = 0
    state_bytes: int = 0
    started: str = ""
    seconds: float = 0.0
    complete: bool = True
    gaps: dict[str, Any] = field(default_factory=dict)
    arrived: int = field(init=False)
    verdict: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "arrived", self.deliveries - sum(self.losses.values()))
        object.__setattr__(self, "verdict", word(self.with_bound, self.violations, self.uncertain))

    @property
    def held(self) -> bool:
        """Whether nothing was later than its bound, as far as the clocks tell."""
        return self.violations == 0

    def to_dict(self) -> dict[str, Any]:
        """For `verdict.json`."""
        return asdict(self)

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any]) -> Verdict:
        """As `verdict.json` has it."""
        return cls(**{name: value for name, value in kept.items() if name not in MADE})


def word(with_bound: int, violations: int, uncertain: int) -> str:
    """The verdict in a word; where no delivery had a bound, none can have held."""
    if violations:
        return VIOLATED
    if not with_bound:
        return UNPROMISED
    return UNCERTAIN if uncertain else HELD


@dataclass(frozen=True, slots=True)
class Counts:
    """How many rows and files went where."""

    records: int = 0
    used: int = 0
    duplicates: int = 0
    pending: int = 0
    forgotten: int = 0
    quarantined: dict[str, int] = field(default_factory=dict)
    quarantined_files: dict[str, int] = field(default_factory=dict)


def judged(
    counts: Counts,
    deliveries: int,
    audit: Iterable[Mapping[str, Any]],
    losses: Iterable[Mapping[str, Any]],
    runs: Iterable[str | None],
    **more: Any,
) -> Verdict:
    """The verdict on tables: rows of `contract_audit` and of `losses`, and the names of runs.

    `deliveries` are those that are in the table.
    """
    rows = list(audit)
    return Verdict(
        runs=sorted({run for run in runs if run is not None}),
        deliveries=deliveries + counts.forgotten,
        contracts=len(rows),
        with_bound=sum(row["with_bound"] for row in rows),
        violations=sum(row["violations"] for row in rows),
        uncertain=sum(row["uncertain"] for row in rows),
        misses=sum(row["misses"] for row in rows),
        largest_ratio=largest(rows, "largest_ratio"),
        proved_ratio=largest(rows, "proved_ratio"),
        losses=summed((row["outcome"], row["count"]) for row in losses),
        **asdict(counts),
        **more,
    )


def largest(rows: Iterable[Mapping[str, Any]], name: str) -> float | None:
    """The largest value of a column, if there is any."""
    return max((row[name] for row in rows if row[name] is not None), default=None)


def by_reason(counts: Mapping[str, int]) -> str:
    """`12 policed, 3 overflow`."""
    return ", ".join(f"{count:,} {reason}" for reason, count in counts.items() if count)


def missing(gaps: Mapping[str, Mapping[str, Any]], most: int = 3) -> list[str]:
    """`of run a1 1 message in 5 was recorded`, for some runs, and how many there are more."""
    said = [f"of run {run} {lacking(gap)}" for run, gap in gaps.items()]
    rest = len(said) - most
    others = f"of {rest:,} more run{'s' if rest > 1 else ''} not every record is there"
    return [*said[:most], others] if rest > 0 else said


def lacking(gap: Mapping[str, Any]) -> str:
    """What records of a run there are not."""
    is_sampled = gap["sampling"] > 1
    rows = sum(rows for reason, rows in gap["dropped"].items() if reason != "sampling" or not is_sampled)
    parts = [f"1 message in {gap['sampling']:,} was recorded"] if is_sampled else []
    parts += [f"{rows:,} record{' was' if rows == 1 else 's were'} dropped"] if rows else []
    return " and ".join(parts)


def summed(counted: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Counts of the same name added, by name."""
    sums: dict[str, int] = {}
    for name, count in counted:
        sums[name] = sums.get(name, 0) + count
    return dict(sorted(sums.items()))
