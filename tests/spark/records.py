"""Records for tests: rows with defaults, as DataFrames and as files."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from giusto.pipeline.tables import bronze, files
from giusto.pipeline.tables.table import SLICE_NS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ARROW = {
    "string": pa.string(),
    "integer": pa.int32(),
    "long": pa.int64(),
    "byte": pa.int8(),
    "double": pa.float64(),
}
DEFAULTS: dict[str, Any] = {
    "run": "r",
    "node": "hub",
    "hop": 0,
    "topic": "ward/3/alarm",
    "publisher": "monitor",
    "subscriber": "nurse",
    "sequence": 0,
    "size_bytes": 100,
    "priority": 0,
    "clock_error_ns": 0,
    "outcome": "delivered",
    "subscription": 1,
}


def seen(sent: int, *, ingress: int | None, selected: int | None = None, **given: Any) -> dict[str, Any]:
    """A record at a broker: sent, came in and was chosen at these instants; egress=, received= as well."""
    times = {"t_sent_ns": sent, "t_intended_ns": sent, "t_ingress_ns": ingress, "t_selected_ns": selected}
    times |= {f"t_{name}_ns": given.pop(name) for name in ("egress", "received") if name in given}
    return {**dict.fromkeys(files.COLUMNS), **DEFAULTS, **times, **given}


def at_subscriber(sent: int, received: int, **given: Any) -> dict[str, Any]:
    """A record of the subscriber itself."""
    given = {"node": "nurse", "hop": 1, **given}
    return seen(sent, ingress=received, received=received, **given)


def random_rows(rng: random.Random, messages: int, slices: int = 3) -> list[dict[str, Any]]:
    """Records of messages that nothing is wrong with, over some slices of time."""
    return [row for sequence in range(messages) for row in random_message(rng, sequence, slices)]


def random_message(rng: random.Random, sequence: int, slices: int) -> list[dict[str, Any]]:
    """One message: lost, or a copy on a link, or seen by a broker and perhaps by its subscriber."""
    # Close together and far from the ends of a slice, so that some wait while others are served.
    sent = rng.randrange(slices) * SLICE_NS + SLICE_NS // 2 + rng.randrange(2_000_000)
    ingress = sent + rng.randint(0, 10_000)
    selected = ingress + rng.choice([0, 1, rng.randint(0, 10**6)])
    egress = selected + rng.choice([0, 5, rng.randint(0, 10**6)])
    bound = rng.choice([None, 0, 900_000, rng.randint(1, 10**6)])
    said = {
        "run": rng.choice(["r", "r", "other", None]),
        "topic": rng.choice(["a", "b"]),
        "publisher": rng.choice(["p", "q", None]),
        "subscriber": rng.choice(["s", "t"]),
        "subscription": rng.choice([None, 1, 2]),
        "sequence": sequence,
        "size_bytes": rng.randint(0, 5_000),
        "clock_error_ns": rng.choice([0, 0, 1_000]),
        "deadline_ns": rng.choice([None, 500_000, 1_500_000]),
        "price": rng.choice([None, 0.1, 2.5]),
        "penalty": rng.choice([None, 0.3]),
        "min_sep_ns": rng.choice([None, 10**6]),
        "bound_ns": bound,
    }
    kind = rng.random()
    if kind < 0.1:
        lost = {"subscriber": None, "subscription": None, "outcome": rng.choice(["policed", "overflow"])}
        return [seen(sent, ingress=ingress, **{**said, **lost})]
    if kind < 0.2:
        return [seen(sent, ingress=ingress, selected=selected, **{**said, "outcome": "expired"})]
    if kind < 0.3:
        link = {"subscriber": None, "subscription": None, "node": "a->b", "received": egress + 5}
        return [seen(sent, ingress=ingress, selected=selected, egress=egress, **{**said, **link})]
    broker = seen(sent, ingress=ingress, selected=selected, egress=egress, **said)
    if kind < 0.8:
        return [broker]
    received = egress + rng.randint(0, 50_000)
    return [broker, at_subscriber(sent, received, **said)]


def frame(
    spark: SparkSession, rows: Iterable[Mapping[str, Any]], wall_offset_ns: int | None = None
) -> DataFrame:
    """Rows as bronze has them before it judges."""
    whole = [(*(row[name] for name in files.COLUMNS), wall_offset_ns) for row in rows]
    return spark.createDataFrame(whole, bronze.schema().add(bronze.WALL, "long"))


def table(rows: Iterable[Mapping[str, Any]], metadata: Mapping[bytes, bytes] | None = None) -> pa.Table:
    """Rows as a file has them."""
    schema = pa.schema([(name, ARROW[kind]) for name, kind in files.COLUMNS.items()])
    said = {files.VERSION_KEY: b"2"} if metadata is None else dict(metadata)
    return pa.Table.from_pylist([dict(row) for row in rows], schema.with_metadata(said))


def write(path: Path, rows: Iterable[Mapping[str, Any]], **trace: Any) -> Path:
    """A record file as a trace writer makes it; `trace` is what it says of itself."""
    metadata = {files.VERSION_KEY: b"2"}
    if trace:
        metadata[files.TRACE_KEY] = json.dumps(trace).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table(rows, metadata), path)
    return path


def write_facts(folder: Path, *said: Mapping[str, Any]) -> None:
    """Files of facts at hub, one for each, beside the records of a folder."""
    (folder / "facts").mkdir(parents=True, exist_ok=True)
    for number, fact in enumerate(said, 1):
        head = {"run": "r", "node": "hub", "at_ns": number}
        (folder / "facts" / f"hub-r-{number:08}.json").write_text(json.dumps({**head, **fact}))


def plain(rows: DataFrame) -> list[dict[str, Any]]:
    """The rows of a DataFrame, in an order that does not depend on how they were computed."""
    return sorted((row.asDict() for row in rows.collect()), key=repr)
