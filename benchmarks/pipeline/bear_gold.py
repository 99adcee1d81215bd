"""The gold tables in Polars, but for `arrival_envelope`: 93 running minima of every flow."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl
from polars import col

WINDOW = SLICE = 10_000_000_000
EDGE = 100_000_000
LOOKS = 64
STEP = WINDOW // LOOKS
QUANTILES = {
    "p50_ns": 5_000, "p90_ns": 9_000, "p95_ns": 9_500, "p99_ns": 9_900, "p99_9_ns": 9_990, "p99_99_ns": 9_999,
}  # fmt: skip

Frames = tuple[pl.LazyFrame, pl.LazyFrame]


def with_bucket(rows: pl.LazyFrame, name: str) -> pl.LazyFrame:
    """64 buckets for each octave; powers of two are floating point numbers, and exact."""
    octave = col(name).clip(lower_bound=64).log(2).floor().cast(pl.Int64)
    width = pl.lit(2.0).pow((octave - 6).clip(lower_bound=0)).cast(pl.Int64)
    shift = (octave - 6).clip(lower_bound=0)
    return rows.with_columns(bucket=(shift * 64 + col(name).clip(lower_bound=0) // width).cast(pl.Int32))


def middle() -> pl.Expr:
    """The value that stands for a bucket."""
    shift = (col("bucket").cast(pl.Int64) // 64 - 1).clip(lower_bound=0)
    width = pl.lit(2.0).pow(shift).cast(pl.Int64)
    return (col("bucket") - shift * 64) * width + (width - 1) // 2


def gathered(
    counted: pl.LazyFrame, key: list[str], names: dict[str, int], *, by_bucket: bool
) -> pl.LazyFrame:
    """Quantiles of buckets by the nearest rank, and the histogram."""
    value = pl.min_horizontal(col("middle"), col("max_ns")) if by_bucket else col("middle")
    rank, total = col("count").cum_sum(), col("count").sum()
    found = {
        name: value.filter(rank >= (total * part / 10_000).ceil()).first() for name, part in names.items()
    }
    most = pl.lit(2**62) if by_bucket else col("max_ns").max()
    return (
        counted.with_columns(middle=middle())
        .sort(*key, "bucket")
        .group_by(key, maintain_order=True)
        .agg(
            *(pl.min_horizontal(value, most).alias(name) for name, value in found.items()),
            histogram=pl.struct("bucket", "count"),
            count=col("count").sum(),
            sum_ns=col("sum_ns").sum(),
            **{name: col(name).max() for name in ("max_ns", "bound_ns", "deadline_ns", "largest_bytes")},
        )
    )


def topic_latency(frames: Frames) -> pl.LazyFrame:
    key = ["run", "topic", "subscriber", "subscription", "window_start_ns"]
    came = frames[0].filter(col("latency_ns").is_not_null())
    came = with_bucket(came.with_columns(window_start_ns=start("t_sent_ns")), "latency_ns")
    counted = came.group_by(*key, "bucket").agg(
        count=pl.len().cast(pl.Int64),
        sum_ns=col("latency_ns").sum(),
        max_ns=col("latency_ns").max(),
        bound_ns=col("bound_ns").max(),
        deadline_ns=col("deadline_ns").max(),
        largest_bytes=pl.lit(0),
    )
    return (
        gathered(counted, key, QUANTILES, by_bucket=False)
        .with_columns(
            rate_hz=col("count") * 1e9 / WINDOW,
            mean_ns=col("sum_ns") // col("count"),
            window_ns=pl.lit(WINDOW),
        )
        .drop("sum_ns", "largest_bytes")
    )


def start(name: str) -> pl.Expr:
    """When the window of an instant began."""
    return col(name) // WINDOW * WINDOW


def contract_audit(frames: Frames) -> pl.LazyFrame:
    key = ["run", "topic", "publisher", "subscriber", "subscription"]
    latency, bound, outcome = col("latency_ns"), col("bound_ns"), col("outcome").cast(pl.String)
    is_over = (col("latency_low_ns") > bound).fill_null(False)
    under = frames[0].filter(bound.is_not_null() | col("deadline_ns").is_not_null())
    found = under.group_by(key).agg(
        deliveries=pl.len(),
        with_bound=bound.count(),
        violations=is_over.sum(),
        uncertain=((latency > bound).fill_null(False) & ~is_over).sum(),
        misses=((outcome == "late") | ((outcome == "expired") & col("deadline_ns").is_not_null())).sum(),
        lost=latency.is_null().sum(),
        largest_ns=latency.max(),
        bound_ns=bound.max(),
        deadline_ns=col("deadline_ns").max(),
        largest_ratio=(latency / bound).filter(bound > 0).max(),
        proved_ns=pl.lit(None, pl.Int64),
        proved_ratio=pl.lit(None, pl.Float64),
    )
    verdict = pl.when(col("violations") > 0).then(pl.lit("violated"))
    verdict = verdict.when(col("uncertain") > 0).then(pl.lit("uncertain"))
    verdict = verdict.when(col("with_bound") > 0).then(pl.lit("held")).otherwise(pl.lit("no bound"))
    return found.with_columns(verdict=verdict)


def violations(frames: Frames) -> pl.LazyFrame:
    place = ["run", "node", "slice"]
    found = frames[0].filter(col("latency_low_ns") > col("bound_ns"))
    found = found.with_columns(slice=col("t_sent_ns") // SLICE)
    turns = frames[1].filter(col("t_selected_ns").is_not_null())
    turns = turns.select("run", "t_selected_ns", node=broker(), slice=col("t_sent_ns") // SLICE)
    turns = turns.join(found, on=place, how="semi", nulls_equal=True).unique().sort("t_selected_ns")
    turns = turns.with_columns(t_next_ns=col("t_selected_ns").shift(-1).over(place))
    ended = found.join(turns, on=[*place, "t_selected_ns"], how="left", nulls_equal=True)
    service = pl.min_horizontal("t_next_ns", "t_egress_ns") - col("t_selected_ns")
    return ended.with_columns(service_ns=service).select(
        "run", "node", "topic", "publisher", "subscriber", "subscription", "sequence", "size_bytes",
        col("latency_ns").alias("observed_ns"), "bound_ns",
        (col("latency_ns") - col("bound_ns")).alias("over_ns"), "network_in_ns", "queue_ns", "service_ns",
        col("egress_ns") - col("service_ns"), "network_out_ns", "clock_error_ns", "t_sent_ns", "wall_ns",
    )  # fmt: skip


def earnings(frames: Frames) -> pl.LazyFrame:
    is_valid = col("outcome") == "delivered"
    terms = ("price", "penalty", "deadline_ns")
    worth = pl.any_horizontal(col(name).is_not_null() for name in terms) & col("subscriber").is_not_null()
    price, penalty = col("price").fill_null(0), col("penalty").fill_null(0)
    found = frames[0].filter(worth).group_by("run", "node", "topic", "subscriber", "subscription")
    return found.agg(
        ideal=pl.len(),
        valid=is_valid.sum(),
        late_or_lost=(~is_valid).sum(),
        price_sum=price.filter(is_valid).sum(),
        penalty_sum=penalty.filter(~is_valid).sum(),
        ideal_earning=price.sum(),
    ).with_columns(
        policy=pl.lit(None, pl.String),
        earning=col("price_sum") - col("penalty_sum"),
        success_rate=col("valid") / col("ideal"),
    )


def losses(frames: Frames) -> pl.LazyFrame:
    lost = frames[0].filter(~col("outcome").is_in(["delivered", "late"]))
    key = ["run", "node", "topic", "publisher", "subscriber", "outcome"]
    sent = col("t_sent_ns")
    return lost.group_by(key).agg(count=pl.len(), first_ns=sent.min(), last_ns=sent.max())


def broker() -> pl.Expr:
    """Where a message was chosen: a link begins there."""
    return col("node").cast(pl.String).str.split("->").list.first()


def selections(hops: pl.LazyFrame) -> pl.LazyFrame:
    """Messages that a node chose."""
    is_link = col("node").cast(pl.String).str.contains("->", literal=True)
    chosen = hops.filter(col("t_selected_ns").is_not_null() & col("node").is_not_null())
    chosen = chosen.with_columns(node=broker(), goes_out=is_link | col("subscriber").is_not_null())
    return chosen.group_by("run", "node", "topic", "publisher", "sequence", "t_sent_ns").agg(
        t_ingress_ns=col("t_ingress_ns").min(),
        t_selected_ns=col("t_selected_ns").min(),
        size_bytes=col("size_bytes").max(),
        fan_out=col("goes_out").sum().cast(pl.Int64),
    )


def shares(frames: Frames) -> pl.LazyFrame:
    key = ["run", "node", "topic", "client", "window_start_ns"]
    chosen = selections(frames[1]).rename({"publisher": "client"}).collect(engine="streaming").lazy()
    quanta = ((col("size_bytes") + 65_535) // 65_536).clip(lower_bound=1).sum()
    served = chosen.with_columns(window_start_ns=start("t_selected_ns")).group_by(key)
    served = served.agg(served=pl.len(), quanta=quanta)
    span = pl.int_ranges(col("t_ingress_ns") // WINDOW, col("t_selected_ns") // WINDOW + 1)
    may_wait = (col("t_ingress_ns") - 1) // STEP < col("t_selected_ns") // STEP
    crosses = col("t_ingress_ns") // WINDOW < col("t_selected_ns") // WINDOW
    windows = chosen.filter(may_wait | crosses).with_columns(window_start_ns=span).explode("window_start_ns")
    windows = windows.with_columns(window_start_ns=col("window_start_ns") * WINDOW)
    looks = windows.with_columns(look=pl.int_ranges(look("t_ingress_ns"), look("t_selected_ns")))
    waited = (
        looks.filter(col("look").list.len() > 0).explode("look").group_by(key).agg(col("look").n_unique())
    )
    both = served.join(waited, on=key, how="full", coalesce=True, nulls_equal=True)
    counts = both.with_columns(col("served", "quanta", "look").fill_null(0))
    whole = ["run", "node", "window_start_ns"]
    total = col("quanta").sum().over(whole)
    of_topic, of_client = (col("quanta").sum().over(*whole, name) for name in ("topic", "client"))
    return counts.select(
        *key,
        "served",
        "quanta",
        share=pl.when(total > 0).then(col("quanta") / total),
        topic_share=pl.when(total > 0).then(of_topic / total),
        client_share=pl.when(total > 0).then(of_client / total),
        guarded=pl.lit(None, pl.Boolean),
        allotted_flow=pl.lit(None, pl.Float64),
        allotted_topic=pl.lit(None, pl.Float64),
        allotted_client=pl.lit(None, pl.Float64),
        allotted_cells=pl.lit(None, pl.Float64),
        waiting=col("look") / LOOKS,
        backlogged=col("look") == LOOKS,
    )


def look(name: str) -> pl.Expr:
    """The first look of a window that is not before an instant."""
    return ((col(name) - col("window_start_ns") + (STEP - 1)) // STEP).clip(0, LOOKS)


def link_model(frames: Frames) -> pl.LazyFrame:
    key = ["run", "source", "target"]
    took = (col("t_received_ns") - col("t_egress_ns")).alias("delay_ns")
    rest = ["size_bytes", "t_sent_ns", "t_egress_ns", took]
    ends = col("node").cast(pl.String).str.split_exact("->", 1)
    is_link = col("subscriber").is_null() & col("node").cast(pl.String).str.contains("->", literal=True)
    between = (
        frames[1]
        .filter(is_link)
        .select(
            col("run").cast(pl.String),
            ends.struct.field("field_0").alias("source"),
            ends.struct.field("field_1").alias("target"),
            *rest,
        )
    )
    last = frames[0].filter(col("subscriber").is_not_null() & col("node").is_not_null())
    ends_of_last = [
        col("run").cast(pl.String),
        col("node").alias("source"),
        col("subscriber").alias("target"),
    ]
    both = pl.concat([between, last.select(*(each.cast(pl.String) for each in ends_of_last), *rest)])
    per_kb = pl.when(col("size_bytes") > 0).then(col("delay_ns") * 1024 / col("size_bytes"))
    scaled = both.filter(col("delay_ns").is_not_null()).with_columns(
        per_kb=per_kb, recent_start_ns=start("t_sent_ns")
    )
    value, delay = col("per_kb"), col("delay_ns")
    whole = scaled.group_by(key).agg(
        count=pl.len(), n=value.count(), mean_ns_per_kb=value.mean(), variance=value.var(),
        skewness=value.skew(), excess_kurtosis=value.kurtosis(), mean_ns=delay.mean(), least_ns=delay.min(),
        largest_ns=delay.max(), since_ns=col("t_egress_ns").min(), until_ns=col("t_egress_ns").max(),
    )  # fmt: skip
    recent = scaled.group_by(*key, "recent_start_ns").agg(
        recent_count=value.count(), recent_mean_ns_per_kb=value.mean(), recent_variance=value.var(),
        recent_normal=odds(value.count(), value.skew(), value.kurtosis()) >= 0.01,
    )  # fmt: skip
    newest = recent.filter(col("recent_count") >= 30).sort("recent_start_ns").unique(key, keep="last")
    fitted = whole.with_columns(normal_p=odds(col("n"), col("skewness"), col("excess_kurtosis")))
    fits = pl.when(col("n") >= 30).then(col("normal_p") >= 0.01)
    return fitted.with_columns(normal=fits).drop("n").join(newest, on=key, how="left", nulls_equal=True)


def odds(n: pl.Expr, skewness: pl.Expr, kurtosis: pl.Expr) -> pl.Expr:
    """How often a sample of a normal distribution looks as unlike one."""
    return (n / -12 * (skewness**2 + kurtosis**2 / 4)).exp()


def quantum(frames: Frames) -> pl.LazyFrame:
    place = ["run", "node", "slice"]
    chosen = selections(frames[1]).with_columns(slice=col("t_sent_ns") // SLICE)
    chosen = chosen.collect(engine="streaming").lazy()
    instants = chosen.group_by(*place, "t_selected_ns").agg(
        first_ingress_ns=col("t_ingress_ns").min(), messages=pl.len().cast(pl.Int64)
    )
    turns = instants.sort("t_selected_ns").with_columns(
        next_ns=col("t_selected_ns").shift(-1).over(place),
        next_ingress_ns=col("first_ingress_ns").shift(-1).over(place),
    )
    is_whole = (col("t_selected_ns") >= col("slice") * SLICE + EDGE) & (
        col("next_ns") < (col("slice") + 1) * SLICE
    )
    found = turns.filter(is_whole & (col("next_ingress_ns") <= col("t_selected_ns")))
    busy = chosen.join(found, on=[*place, "t_selected_ns"], nulls_equal=True)
    size = col("size_bytes")
    power = pl.lit(2.0).pow(size.clip(lower_bound=1).log(2).ceil()).cast(pl.Int64)
    busy = busy.with_columns(
        service_ns=(col("next_ns") - col("t_selected_ns") + col("messages") - 1) // col("messages"),
        size_class=pl.when(size <= 1).then(size).otherwise(power),
    )
    key = ["run", "node", "size_class", "fan_out"]
    counted = (
        with_bucket(busy, "service_ns")
        .group_by(*key, "bucket")
        .agg(
            count=pl.len().cast(pl.Int64),
            sum_ns=col("service_ns").sum(),
            max_ns=col("service_ns").max(),
            bound_ns=pl.lit(0),
            deadline_ns=pl.lit(0),
            largest_bytes=size.max(),
        )
    )
    names = {name: QUANTILES[name] for name in ("p50_ns", "p99_ns", "p99_9_ns")}
    found = gathered(counted, key, names, by_bucket=True)
    return found.with_columns(mean_ns=col("sum_ns") / col("count")).drop("sum_ns", "bound_ns", "deadline_ns")


GOLD: dict[str, Callable[[Frames], pl.LazyFrame]] = {
    "topic_latency": topic_latency,
    "contract_audit": contract_audit,
    "violations": violations,
    "earnings": earnings,
    "losses": losses,
    "shares": shares,
    "link_model": link_model,
    "quantum": quantum,
}
