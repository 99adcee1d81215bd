"""Which records are taken as they are, and why others are not: no row goes uncounted."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from giusto.contract.offer import leeway_ns
from giusto.pipeline.linking import literal
from giusto.pipeline.tables.files import (
    COLUMNS,
    LATEST_NS,
    BadFile,
    Inspected,
    Inspector,
    RecordFile,
    instant,
    record_files,
)
from giusto.record import Outcome

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import StructType

# Nothing waits longer: an instant that is farther from when the message was sent is of another clock.
LONGEST_NS = 24 * 3600 * 1_000_000_000
# No message is larger, and no path nearly so long.
MOST = {"size_bytes": 1 << 32, "hop": 1 << 16}
# A broker reads its clock once per turn. What was sent while it stood still in one seems to have come before.
STANDSTILL_NS = 1_000_000_000
# Offsets of the wall clock are rounded to this: the time of day is for people.
NEAR_NS = 100_000_000
NEEDED = (
    "hop",
    "sequence",
    "size_bytes",
    "priority",
    "t_sent_ns",
    "t_ingress_ns",
    "clock_error_ns",
    "outcome",
)
INSTANTS = ("t_sent_ns", "t_ingress_ns", "t_selected_ns", "t_egress_ns", "t_received_ns")
SPANS = ("clock_error_ns", "min_sep_ns", "deadline_ns", "bound_ns")
WALL = "wall_offset_ns"
REASON = "reason"
FACTS = (
    "run string, node string, at_ns long, wall_offset_ns long, input string, output string, "
    "fragment_bytes long, topic string, weight double, cells_share double, quanta_share double, "
    "guarded boolean, bound_ns long, client string, client_share double, flow_share double, "
    "min_sep_ns long, allowed_ns long"
)


@dataclass(frozen=True)
class Bronze:
    """Records that were read: good rows, the others with their `reason`, and the files they are from."""

    rows: DataFrame
    quarantine: DataFrame
    files: Inspected


def read(spark: SparkSession, path: str | Path) -> Bronze:
    """Records of a trace folder, of a folder of Parquet files, or of one file."""
    return read_files(spark, Inspector().inspect(record_files(Path(path))))


def read_files(spark: SparkSession, files: Inspected) -> Bronze:
    """Records of the good ones of some files."""
    return sifted(raw(spark, files.good), files)


def sifted(rows: DataFrame, files: Inspected | None = None) -> Bronze:
    """Rows as they were read, parted by whether there is a reason against them."""
    from pyspark.sql import functions as fn

    found = judged(rows)
    return Bronze(
        found.filter(fn.col(REASON).isNull()).drop(REASON),
        found.filter(fn.col(REASON).isNotNull()),
        files or Inspected(),
    )


def judged(rows: DataFrame) -> DataFrame:
    """Rows as they were read, with a `reason` against those that cannot be what happened."""
    return rows.withColumn(REASON, reason())


def schema() -> StructType:
    """The columns of a record, as Spark reads them; a file without one of them has nulls there."""
    from pyspark.sql.types import StructType

    found = StructType()
    for name, kind in COLUMNS.items():
        found = found.add(name, kind)
    return found


def raw(spark: SparkSession, files: tuple[RecordFile, ...]) -> DataFrame:
    """All rows of these files, with the offset of the wall clock that each file says."""
    from pyspark.sql import functions as fn

    found = None
    for offset_ns, paths in by_offset(files).items():
        part = spark.read.schema(schema()).parquet(*paths)
        part = part.withColumn(WALL, fn.lit(offset_ns).cast("long"))
        found = part if found is None else found.unionAll(part)
    return empty(spark) if found is None else found


def by_offset(files: tuple[RecordFile, ...]) -> dict[int | None, list[str]]:
    """Files of about the same offset, which are read together: a writer measures it anew for each file.

    Rounded file by file, so that the time of a row does not depend on what is read with it.
    """
    found: dict[int | None, list[str]] = {}
    for file in files:
        found.setdefault(about(file.wall_offset_ns), []).append(literal(file.path))
    return found


def about(offset_ns: int | None) -> int | None:
    """An offset of the wall clock, rounded."""
    return None if offset_ns is None else round(offset_ns / NEAR_NS) * NEAR_NS


def empty(spark: SparkSession) -> DataFrame:
    """No rows, with the columns of bronze."""
    return spark.createDataFrame([], schema().add(WALL, "long"))


def reason() -> Column:
    """Why a row cannot be what happened; null if it can."""
    from pyspark.sql import functions as fn

    found = fn.when(any_of(fn.col(name).isNull() for name in NEEDED), "missing")
    found = found.when(~fn.col("outcome").isin([each.value for each in Outcome]), "outcome")
    found = found.when(any_of(fn.col(name) < 0 for name in ("size_bytes", "hop", *SPANS)), "negative")
    found = found.when((fn.col("priority") < 0) | (fn.col("priority") > 7), "priority")
    found = found.when(any_of(is_no_number(name) for name in ("price", "penalty")), "price")
    found = found.when(any_of(is_out_of_range(name) for name in (*INSTANTS, *SPANS)), "range")
    found = found.when(any_of(fn.col(name) > most for name, most in MOST.items()), "range")
    found = found.when(any_of(has_jumped(name) for name in INSTANTS[1:]), "clock jump")
    return found.when(is_out_of_order(), "order")


def is_no_number(name: str) -> Column:
    """Whether a price is nothing that can be added up."""
    from pyspark.sql import functions as fn

    return fn.isnan(name) | fn.col(name).isin([float("inf"), float("-inf")])


def is_out_of_range(name: str) -> Column:
    """Whether no clock can have shown this."""
    from pyspark.sql import functions as fn

    return (fn.col(name) < 0) | (fn.col(name) > LATEST_NS)


def has_jumped(name: str) -> Column:
    """Whether an instant is farther from when the message was sent than anything ever waits."""
    from pyspark.sql import functions as fn

    # try_: where an earlier reason holds, this may be computed all the same, and must not fail.
    after_ns = fn.try_subtract(fn.col(name), fn.col("t_sent_ns"))
    return (after_ns > LONGEST_NS) | (after_ns < -LONGEST_NS)


def is_out_of_order() -> Column:
    """Whether something happened before what it follows; instants of two clocks may be that far apart."""
    from pyspark.sql import functions as fn

    sent, ingress, selected, egress, received = (fn.col(name) for name in INSTANTS)
    error = fn.col("clock_error_ns")
    return any_of(
        [
            fn.try_add(fn.try_add(ingress, error), fn.lit(STANDSTILL_NS)) < sent,
            selected < ingress,
            egress < ingress,
            egress < selected,
            fn.try_add(received, error) < fn.coalesce(egress, ingress),
            fn.try_add(received, error) < sent,
        ]
    )


def any_of(conditions: Any) -> Column:
    """Whether one of them holds; what is unknown does not."""
    from pyspark.sql import functions as fn

    found = fn.lit(False)
    for condition in conditions:
        found = found | fn.coalesce(condition, fn.lit(False))
    return found


def quarantined_files(spark: SparkSession, files: tuple[BadFile, ...]) -> DataFrame:
    """The files that were not read, as a table."""
    rows = [(file.name, file.reason, file.detail, file.rows) for file in files]
    return spark.createDataFrame(rows, "file string, reason string, detail string, rows long")


def facts(spark: SparkSession, path: str | Path) -> DataFrame | None:
    """What the records of a trace folder do not say: one row per topic and client of each fact."""
    folder = Path(path) / "facts"
    if not folder.is_dir():
        return None
    rows = [row for file in sorted(folder.glob("*.json")) for row in fact_rows(file)]
    return spark.createDataFrame(rows, FACTS) if rows else None


def fact_rows(file: Path) -> list[tuple[Any, ...]]:
    """One facts file as rows; a file that is no such thing has none."""
    try:
        fact = json.loads(file.read_text("utf-8"))
        at_ns = instant(fact["at_ns"])
        if at_ns is None:
            return []
        names = (text(fact.get(name)) for name in ("run", "node", "input", "output"))
        run, node, *policies = names
        head = (run, node, at_ns, instant(fact.get(WALL)), *policies, instant(fact.get("fragment_bytes")))
        tolerance_ns = instant(fact.get("tolerance_ns")) or 0
        rows = [row for topic in fact.get("topics") or [{}] for row in topic_rows(topic, tolerance_ns)]
    except (ValueError, KeyError, TypeError, AttributeError):
        return []
    return [(*head, *row) for row in rows]


def topic_rows(topic: dict[str, Any], tolerance_ns: int) -> list[tuple[Any, ...]]:
    """A topic with each of its clients; itself alone if it has none."""
    is_guarded = topic["guarded"] if isinstance(topic.get("guarded"), bool) else None
    shares = (number(topic.get(name)) for name in ("weight", "share", "quanta_share"))
    head = (text(topic.get("topic")), *shares, is_guarded, instant(topic.get("bound_ns")))
    return [(*head, *client_row(client, tolerance_ns)) for client in topic.get("clients") or [{}]]


def client_row(client: dict[str, Any], tolerance_ns: int) -> tuple[Any, ...]:
    """A client of a topic, what it is allotted, and what it offers."""
    shares = (number(client.get(name)) for name in ("share", "flow_share"))
    return text(client.get("client")), *shares, *offer_row(client, tolerance_ns)


def offer_row(client: dict[str, Any], tolerance_ns: int) -> tuple[int | None, int | None]:
    """The separation that a client offers, and by how much messages may be early beyond it."""
    said = (instant(client.get(name)) for name in ("min_sep_ns", "burst", "jitter_ns"))
    separation_ns, burst, jitter_ns = said
    if separation_ns is None or burst is None or jitter_ns is None:
        return None, None
    early_ns = leeway_ns(separation_ns=separation_ns, burst=burst, jitter_ns=jitter_ns) + tolerance_ns
    return separation_ns, max(0, min(early_ns, LATEST_NS))


def number(value: Any) -> float | None:
    """A number as a float, or nothing."""
    return None if value is None else float(value)


def text(value: Any) -> str | None:
    """A name, or nothing."""
    return value if isinstance(value, str) else None
