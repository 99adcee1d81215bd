"""The page that says how giusto does beside other brokers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.peers.aims import AIMS
from benchmarks.peers.brokers import Broker, Missing
from benchmarks.peers.measures import MEASURES
from benchmarks.peers.notes import HOW, LIMITS
from benchmarks.peers.rounds import Rounds, Spread

PICTURES = {"throughput": "benchmarks-peers-throughput.png", "flood": "benchmarks-peers-delay.png"}


@dataclass(frozen=True, slots=True)
class Column:
    """A figure of a table: where it is found, what it is divided by, and how it is written."""

    title: str
    name: str
    scale: float = 1.0
    digits: int = 0
    with_spread: bool = False

    def cell(self, rounds: Rounds, measure: str, peer: str) -> str:
        return written(rounds.spread(measure, peer, self.name), self)


@dataclass(frozen=True, slots=True)
class Ratio:
    """A figure against that of another peer, or against another figure of the same one, within each round."""

    title: str
    name: str
    peer: str | None = None
    under: str | None = None
    measure: str | None = None

    def cell(self, rounds: Rounds, measure: str, peer: str) -> str:
        under = (self.measure or measure, self.peer or peer, self.under or self.name)
        found = rounds.ratio((measure, peer, self.name), under)
        return "" if found is None else f"{found.middle:.2f}"


def delays(prefix: str, title: str = "") -> list[Column]:
    """Percentiles that say something about a peer, with their spread."""
    return [
        Column(f"{title}{name}, µs", f"{prefix}{name}_us", with_spread=True) for name in ("p50", "p90", "p95")
    ]


TAIL = [
    Column("p99", "p99_us"), Column("p99.9", "p999_us"), Column("max", "max_us"),
    Column("machine: p99", "witness_p99_us"), Column("machine: max", "witness_max_us"),
]  # fmt: skip
LATENCY: list[Column | Ratio] = [
    *delays(""), Ratio("p50 × relay", "p50_us", "relay"), Ratio("p95 × relay", "p95_us", "relay"), *TAIL,
]  # fmt: skip
COLUMNS: dict[str, Sequence[Column | Ratio]] = {
    "throughput": [
        Column("million/s", "rate", 1e6, 2, with_spread=True),
        Ratio("× relay", "rate", "relay"), Ratio("× giusto", "rate", "giusto"), Column("lost", "lost"),
    ],
    "latency-250": LATENCY,
    "latency-5000": LATENCY,
    "flood": [
        Column("alone: p50, µs", "alone_p50_us"), Column("p95", "alone_p95_us"),
        Column("beside: p50, µs", "beside_p50_us", with_spread=True),
        Column("p95", "beside_p95_us", with_spread=True), Column("p99", "beside_p99_us"),
        Ratio("p50 × alone", "beside_p50_us", under="alone_p50_us"),
        Ratio("p95 × alone", "beside_p95_us", under="alone_p95_us"),
        Column("lost", "lost"), Column("flood, million/s", "flood_rate", 1e6, 2),
        Column("in the broker: p50, µs", "inside_p50_us", digits=1),
        Column("p99", "inside_p99_us", digits=1), Column("max", "inside_max_us", digits=1),
    ],
    "stalled": [
        Column("all read: p50, µs", "reading_p50_us"),
        Column("p95", "reading_p95_us", with_spread=True),
        Column("one stopped: p50, µs", "stalled_p50_us"),
        Column("p95", "stalled_p95_us", with_spread=True),
        Ratio("p95 × all read", "stalled_p95_us", under="reading_p95_us"), Column("lost", "lost"),
    ],
    "many": [
        Column("idle, MB", "idle_mb", digits=1), Column("before, MB", "before_mb", digits=1),
        Column("million/s", "rate", 1e6, 2, with_spread=True),
        Ratio("× one topic", "rate", under="rate", measure="throughput"), Column("lost", "lost"),
    ],
    "python": [
        Column("thousand/s", "rate", 1e3, with_spread=True),
        Ratio("× zenoh", "rate", "zenoh, peer to peer"), Column("lost, %", "lost_percent", digits=1),
    ],
}  # fmt: skip
TITLES = {measure.name: measure.title for measure in MEASURES} | {"python": "Python to Python"}


def written(found: Spread | None, column: Column) -> str:
    """A figure, with the lowest and the highest if the column wants them."""
    if found is None:
        return ""
    low, middle, high = (
        f"{value / column.scale:,.{column.digits}f}" for value in (found.low, found.middle, found.high)
    )
    return f"{middle} ({low}–{high})" if column.with_spread else middle


def table(rounds: Rounds, measure: str) -> tuple[list[str], list[list[str]]]:
    """Header and rows of one measure, one row for each peer."""
    columns = COLUMNS[measure]
    rows = [
        [peer, *(column.cell(rounds, measure, peer) for column in columns)] for peer in rounds.peers(measure)
    ]
    return ["peer", *(column.title for column in columns)], rows


def failures(rounds: Rounds, measure: str) -> list[str]:
    """What did not work, once for each peer."""
    said = []
    for peer in rounds.lines.get(measure, {}):
        problems = rounds.failures(measure, peer)
        if problems:
            said.append(f"{peer} failed in {len(problems)} of {rounds.count()} rounds: {problems[-1]}")
    return said


def aims(rounds: Rounds) -> tuple[list[str], list[list[str]]]:
    """Header and rows of the table of aims."""
    return ["aim", "wanted", "measured", "reached"], [aim.row(rounds) for aim in AIMS]


def markdown(header: list[str], rows: list[list[str]]) -> str:
    """A table; all but the first column to the right."""
    lines = [header, ["---", *("---:" for _ in header[1:])], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def page(
    rounds: Rounds, brokers: list[Broker], missing: list[Missing], *, machine: str, date: str, pictures: bool
) -> str:
    """The document."""
    versions = ", ".join(f"{broker.name} {broker.version}" for broker in brokers if broker.name != "relay")
    parts = [
        "# Beside other brokers",
        f"Measured on {date} on {machine}: {versions}. "
        "`make bench-peers` measures again and rewrites this page.",
        HOW.format(rounds=rounds.count()),
        "## What was aimed at",
        markdown(*aims(rounds)),
    ]
    if missing:
        parts.append(
            "Not here, so not measured: " + ", ".join(f"{one.name} (`{one.remedy}`)" for one in missing) + "."
        )
    for measure in COLUMNS:
        if measure in rounds.lines:
            parts += section(rounds, measure, pictures)
    return "\n\n".join(parts) + "\n"


def section(rounds: Rounds, measure: str, pictures: bool) -> list[str]:
    """One measure: its table, its picture, what went wrong, and what limits it."""
    parts = [f"## {TITLES[measure]}", markdown(*table(rounds, measure))]
    if pictures and measure in PICTURES:
        parts.append(f"![{TITLES[measure]}]({PICTURES[measure]})")
    return [*parts, *failures(rounds, measure), LIMITS[measure]]
