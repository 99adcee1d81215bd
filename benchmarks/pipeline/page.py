"""The page that says how fast the pipeline is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.pipeline.measures import DUCKDB, ENDS, GOLD, LONGEST_S, POLARS, SCANS, SILVER, SPARK, Took
from benchmarks.pipeline.whole import STAGES, Whole
from benchmarks.run import Figure, by_bench, grid, markdown

TIMES, STREAM_HZ, ENVELOPE_GROWTH, NOT_FURTHER = 5.0, 200_000, 1.5, 1.0
HOW = """\
The records are those of one busy broker: 64 topics, 100,000 records in a second, half of the subscriptions
with a bound, some losses, one subscriber that keeps records too, and one record in twelve of a link to
another broker. Spark runs as `giusto pipeline run` starts it, on two cores, after a run over few records;
DuckDB and Polars have two threads. All three read the same Parquet files and write their table to one; they
take turns at each table. A test compares what they make of fewer records. The gold tables are made of the
records and of the deliveries that Spark wrote."""
STREAMED = """\
A batch makes deliveries, all tables and the verdict. The stream reads files that are all there, of 100,000
records in each second of their time. It is measured from its start until the tables with the last of them are
presented, after a stream over fewer records in the same session. While it is behind it presents what is
settled. What waits are records of slices of time that have not ended. Processor time is of all processes.
The last row is a stream to which files of a million records come one by one, and which presents what waits as
well. Behind are records that have come and with which it is not done: at most, in the first half of the time
and in the second. A stream that keeps up is not further behind in the second."""
SPENT = """\
Stages of a stream follow each other. Within settling the tables are made three at a time, so their times add
up to more. Files are let in, read to their ends and counted beside all this, in a thread of its own."""
ENDED = """\
Then nearly every delivery is made of two records, one of the broker and one of the subscriber, which have to
be found together. Where only brokers keep records most deliveries are made of one."""
LEFT_OUT = f"""\
Where there is no figure the engine would have taken longer than {LONGEST_S:.0f} s, by its time at the size
before, or does not make the table (Polars: `arrival_envelope`). What `losses` takes in Spark is
reading its seven columns: to read them with the same filter and group nothing takes as long."""
SOURCE = """\
`benchmarks/source.py`: rows of a retained topic, through the Python data source and without it. Where rows
are ready nobody is asked for them: that is what Spark takes for a Python data source anyway. The time of a
stream is from its start to its end."""
WHOLE = [
    "run", "records", "seconds", "records/s", "processor seconds per million", "until all was read, s",
    "waiting at most, records", "waiting at most, MB", "behind at most, records", "and later",
]  # fmt: skip
TABLE = [
    "table", "Spark, s", "DuckDB, s", "Polars, s", "Spark, million records/s", "× DuckDB", "× Polars",
]  # fmt: skip


@dataclass(frozen=True)
class Figures:
    """Everything that was measured."""

    took: Sequence[Took]
    wholes: Sequence[Whole]
    empty_s: Sequence[float]
    source: Sequence[Figure] = ()
    ends: Sequence[Took] = ()

    @property
    def sizes(self) -> list[int]:
        """How many records there were, the fewest first."""
        return sorted({each.rows for each in self.took})

    def seconds(self, engine: str, what: str, rows: int) -> float | None:
        """How long something took, if it was measured."""
        for each in (*self.took, *self.ends):
            if (each.engine, each.what, each.rows) == (engine, what, rows):
                return each.seconds
        return None

    def ratio(self, what: str, rows: int, other: str = DUCKDB) -> float | None:
        """Spark's time against that of another."""
        return divided(self.seconds(SPARK, what, rows), self.seconds(other, what, rows))

    def last_ratio(self, what: str) -> tuple[int, float | None]:
        """Spark's time against DuckDB's at the largest size that both were measured at."""
        both = [(rows, self.ratio(what, rows)) for rows in self.sizes]
        return next(((rows, ratio) for rows, ratio in reversed(both) if ratio is not None), both[-1])

    def growth(self, what: str) -> float | None:
        """Spark's time for a record at the largest size against that at the smallest."""
        small, large = self.sizes[0], self.sizes[-1]
        if small == large:
            return None
        times = divided(self.seconds(SPARK, what, large), self.seconds(SPARK, what, small))
        return None if times is None else times * small / large


def divided(one: float | None, other: float | None) -> float | None:
    """A ratio of what is known."""
    return None if one is None or not other else one / other


def page(figures: Figures, machine: str, date: str) -> str:
    """The document."""
    largest, tables = figures.sizes[-1], (*SILVER, *GOLD)
    by_size = [f"{rows / 1e6:g} million" for rows in figures.sizes]
    empty_ms = [1e3 * each for each in sorted(figures.empty_s)]
    parts = [
        "# How fast the pipeline is",
        f"Measured on {date} on {machine}. `make bench-pipeline` measures again and rewrites this page.",
        HOW,
        "## What was aimed at",
        markdown(["aim", "wanted", "measured", "reached"], aims(figures)),
        "## The whole pipeline",
        markdown(WHOLE, [whole_row(each) for each in figures.wholes]),
        STREAMED,
        *spent(figures.wholes),
        f"## Each table, {largest / 1e6:g} million records",
        markdown(TABLE, [table_row(figures, what, largest) for what in tables]),
        LEFT_OUT,
        *ends(figures),
        "## How it grows",
        markdown(
            ["table", *(f"{size}, s" for size in by_size), "time for a record, last to first"],
            [growth_row(figures, what) for what in tables],
        ),
        "At few records the time is that of planning and starting jobs, so the time for a record falls.",
        "## × DuckDB by size",
        markdown(["table", *by_size], [ratio_row(figures, what) for what in tables]),
        "## What Spark needs anyway",
        f"An empty job takes {middle(empty_ms):.0f} ms ({empty_ms[0]:.0f}–{empty_ms[-1]:.0f}).",
        markdown(
            ["scan", "records", "Spark, s", "DuckDB, s", "Polars, s"],
            [scan_row(figures, what, rows) for what in SCANS for rows in figures.sizes],
        ),
    ]
    if figures.source:
        parts += ["## Spark reads topics", SOURCE]
        parts += [markdown(*grid(found)) for found in by_bench(list(figures.source)).values()]
    return "\n\n".join(parts) + "\n"


def ends(figures: Figures) -> list[str]:
    """Silver at its slowest, if it was measured."""
    if not figures.ends:
        return []
    rows = figures.ends[0].rows
    return [
        f"## Every subscriber keeps records, {rows / 1e6:g} million records",
        markdown(TABLE, [table_row(figures, ENDS, rows)]),
        ENDED,
    ]


def aims(figures: Figures) -> list[list[str]]:
    """What was wanted, and what came of it."""
    rows = []
    for what in ("deliveries", *GOLD):
        size, ratio = figures.last_ratio(what)
        rows.append(aim(f"{what}: time against DuckDB at {size / 1e6:g} million records", ratio, TIMES))
    rates = {each.title: each.rows / each.seconds for each in figures.wholes}
    rows.append(aim("stream with every table, records/s", rates.get("stream"), STREAM_HZ, at_least=True))
    for each in figures.wholes:
        if each.behind_rows is not None:
            title = f"{each.title}: behind in the second half of the time against the first"
            rows.append(aim(title, divided(each.behind_rows[1], each.behind_rows[0]), NOT_FURTHER))
    growth = figures.growth("arrival_envelope")
    rows.append(aim("arrival_envelope: time for a record, most against fewest", growth, ENVELOPE_GROWTH))
    return rows


def aim(title: str, value: float | None, limit: float, *, at_least: bool = False) -> list[str]:
    """One line."""
    wanted = f"{'≥' if at_least else '≤'} {number(limit)}"
    if value is None:
        return [title, wanted, "", "not measured"]
    kept = value >= limit if at_least else value <= limit
    return [title, wanted, number(value), "yes" if kept else "**no**"]


def table_row(figures: Figures, what: str, rows: int) -> list[str]:
    """All engines on one table."""
    seconds = [figures.seconds(engine, what, rows) for engine in (SPARK, DUCKDB, POLARS)]
    speed = divided(rows / 1e6, seconds[0])
    ratios = [figures.ratio(what, rows, other) for other in (DUCKDB, POLARS)]
    return [what, *map(number, [*seconds, speed, *ratios])]


def growth_row(figures: Figures, what: str) -> list[str]:
    """Spark on one table at all sizes."""
    seconds = [figures.seconds(SPARK, what, rows) for rows in figures.sizes]
    return [what, *map(number, [*seconds, figures.growth(what)])]


def ratio_row(figures: Figures, what: str) -> list[str]:
    """Spark against DuckDB at all sizes."""
    return [what, *(number(figures.ratio(what, rows)) for rows in figures.sizes)]


def scan_row(figures: Figures, what: str, rows: int) -> list[str]:
    """All engines on a scan."""
    seconds = [figures.seconds(engine, what, rows) for engine in (SPARK, DUCKDB, POLARS)]
    return [what, f"{rows:,}", *map(number, seconds)]


def whole_row(each: Whole) -> list[str]:
    """One run."""
    state = (
        [f"{each.pending_rows:,}", number(each.pending_bytes / 1e6)] if each.read_s is not None else ["", ""]
    )
    state += ["", ""] if each.behind_rows is None else [f"{rows:,}" for rows in each.behind_rows]
    speed = [number(each.rows / each.seconds), number(each.processor_us)]
    return [each.title, f"{each.rows:,}", number(each.seconds), *speed, number(each.read_s), *state]


def spent(wholes: Sequence[Whole]) -> list[str]:
    """Where the time of a stream went, if one was measured."""
    found = []
    for each in wholes:
        if each.spent_s:
            rows = [
                [what, number(seconds), percent(seconds / each.seconds)] for what, seconds in stages(each)
            ]
            found += [markdown(["stage of the stream", "s", "of the time"], rows), SPENT]
    return found


def stages(whole: Whole) -> list[tuple[str, float]]:
    """Stages of a stream, each followed by its parts, and what was none of them."""
    found = []
    for stage in STAGES:
        parts = sorted(what for what in whole.spent_s if what.startswith(f"{stage} "))
        found += [(what, whole.spent_s[what]) for what in (stage, *parts) if what in whole.spent_s]
    return [*found, ("between stages", whole.idle_s)]


def percent(part: float) -> str:
    """A part of a whole."""
    return f"{100 * part:.0f} %"


def middle(values: Sequence[float]) -> float:
    """The median."""
    return sorted(values)[len(values) // 2]


def number(value: float | None) -> str:
    """Three digits, or all of a large whole part."""
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
