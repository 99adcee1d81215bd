"""The deliveries in Polars: what `giusto.pipeline.tables.silver` makes of records, once more."""

from __future__ import annotations

import polars as pl
from polars import col

MESSAGE = ["run", "topic", "publisher", "subscriber", "sequence", "t_sent_ns"]
KEY = [*MESSAGE, "subscription"]
TIMES = ["t_ingress_ns", "t_selected_ns", "t_egress_ns", "t_received_ns"]
WHOLE = [*KEY, "node", "hop", *TIMES, "outcome"]
SAID = [
    "size_bytes", "priority", "t_intended_ns", "min_sep_ns", "deadline_ns", "bound_ns", "price", "penalty",
    "wall_offset_ns",
]  # fmt: skip
ORDER = [
    "run", "node", "topic", "publisher", "subscriber", "subscription", "sequence", "size_bytes", "priority",
    "hops", "t_intended_ns", "t_sent_ns", *TIMES, "clock_error_ns", "min_sep_ns", "deadline_ns", "bound_ns",
    "price", "penalty", "outcome", "latency_ns", "latency_low_ns", "latency_high_ns", "inside_ns",
    "network_in_ns", "queue_ns", "egress_ns", "network_out_ns", "wall_ns", "records",
]  # fmt: skip
IS_END = (
    col("subscriber").is_not_null()
    & col("t_received_ns").is_not_null()
    & col("t_selected_ns").is_null()
    & col("t_egress_ns").is_null()
)
IS_COPY = col("subscriber").is_null() & (col("outcome") == "delivered")


def repeated(keyed: pl.LazyFrame) -> pl.LazyFrame:
    """Hashes that are there more than once."""
    return keyed.group_by("h").len().filter(col("len") > 1).select("h").collect(engine="streaming").lazy()


def hops(records: pl.LazyFrame) -> pl.LazyFrame:
    """Good rows, each once."""
    keyed = records.with_columns(h=pl.struct(WHOLE).hash())
    found = repeated(keyed)
    single = keyed.join(found, on="h", how="anti")
    several = keyed.join(found, on="h", how="semi").unique(WHOLE)
    return pl.concat([single, several]).drop("h")


def deliveries(records: pl.LazyFrame) -> pl.LazyFrame:
    """One row for each delivery."""
    by_key, by_row = pl.struct(MESSAGE).hash(), pl.struct(WHOLE).hash()
    keyed = records.with_columns(h=pl.when(col("subscriber").is_null()).then(by_row).otherwise(by_key))
    found = repeated(keyed)
    single = keyed.join(found, on="h", how="anti").filter(~IS_COPY)
    several = keyed.join(found, on="h", how="semi").unique(WHOLE).filter(~IS_COPY)
    return told(pl.concat([of_one(single), of_several(several)]))


def of_one(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Deliveries that were seen in one place."""
    return rows.select(
        *KEY,
        *SAID,
        node=pl.when(~IS_END).then(col("node")),
        hops=col("hop") + pl.when(IS_END).then(0).otherwise(1),
        t_ingress_ns=pl.when(~IS_END).then(col("t_ingress_ns")),
        t_selected_ns=col("t_selected_ns"),
        t_egress_ns=col("t_egress_ns"),
        t_received_ns=col("t_received_ns"),
        clock_error_ns=col("clock_error_ns"),
        outcome=col("outcome"),
        queue_ns=col("t_selected_ns") - col("t_ingress_ns"),
        egress_ns=col("t_egress_ns") - col("t_selected_ns"),
        records=pl.lit(1, pl.Int64),
    )


def of_several(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Deliveries that were seen in several places."""
    place = pl.when(col("subscriber").is_null()).then(col("node").cast(pl.String))
    by_hop = rows.with_columns(is_end=IS_END, place=place).sort("hop", "is_end", "node")
    at_broker = ~col("is_end")
    found = by_hop.group_by([*KEY, "place"], maintain_order=True).agg(
        *(col(name).max() for name in SAID),
        node=col("node").filter(at_broker).last(),
        hops=(col("hop") + pl.when(col("is_end")).then(0).otherwise(1)).max(),
        t_ingress_ns=col("t_ingress_ns").filter(at_broker).first(),
        t_selected_ns=col("t_selected_ns").drop_nulls().last(),
        t_egress_ns=col("t_egress_ns").drop_nulls().last(),
        t_received_ns=col("t_received_ns").max(),
        clock_error_ns=col("clock_error_ns").max(),
        outcome=col("outcome").last(),
        queue_ns=total(col("t_selected_ns") - col("t_ingress_ns")),
        egress_ns=total(col("t_egress_ns") - col("t_selected_ns")),
        records=pl.len().cast(pl.Int64),
    )
    return found.drop("place")


def total(values: pl.Expr) -> pl.Expr:
    """A sum that is missing if all are."""
    return pl.when(values.count() > 0).then(values.sum())


def told(rows: pl.LazyFrame) -> pl.LazyFrame:
    """With how long they took, and where the time went."""
    has_come = col("outcome").cast(pl.String).is_in(["delivered", "late"])
    last_seen = pl.coalesce("t_received_ns", "t_egress_ns") - col("t_sent_ns")
    before = pl.coalesce("t_egress_ns", "t_selected_ns", "t_ingress_ns") - col("t_sent_ns")
    inside = col("queue_ns").fill_null(0) + col("egress_ns").fill_null(0)
    is_late = (col("latency_ns") > col("deadline_ns")).fill_null(False)
    return (
        rows.with_columns(latency_ns=pl.when(has_come).then(last_seen))
        .with_columns(
            outcome=pl.when(is_late).then(pl.lit("late")).otherwise(col("outcome").cast(pl.String)),
            latency_low_ns=col("latency_ns") - col("clock_error_ns"),
            latency_high_ns=col("latency_ns") + col("clock_error_ns"),
            inside_ns=col("t_egress_ns") - col("t_ingress_ns"),
            network_in_ns=before - inside,
            network_out_ns=col("t_received_ns") - col("t_egress_ns"),
            wall_ns=col("t_sent_ns") + col("wall_offset_ns"),
        )
        .select(ORDER)
    )
