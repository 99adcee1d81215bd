"""Which deliveries were later than their bound, each with where its time went.

The parts add up to what was observed. `service_ns` is from when the last broker chose the message until it
chose its next one, at most until the message was sent on; `egress_ns` is the rest until then.
`network_in_ns` is all that passed outside of brokers before. Only messages of one slice are compared with
each other; a next one more than a second later is not looked for. Where records of a run are missing, there
is no `service_ns`, and `egress_ns` is all from when the message was chosen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from giusto.pipeline.tables.gold.contract_audit import is_violation
from giusto.pipeline.tables.selections import broker
from giusto.pipeline.tables.table import Inputs, Table, slice_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

COLUMNS = (
    "run",
    "node",
    "topic",
    "publisher",
    "subscriber",
    "subscription",
    "sequence",
    "size_bytes",
    "observed_ns",
    "bound_ns",
    "over_ns",
    "network_in_ns",
    "queue_ns",
    "service_ns",
    "egress_ns",
    "network_out_ns",
    "clock_error_ns",
    "t_sent_ns",
    "wall_ns",
)
PLACE = ("run", "node", "slice")
STEP_NS, LOOK_NS = 1_000_000, 1_000_000_000


def partial(inputs: Inputs) -> DataFrame:
    """The violations of these slices."""
    from pyspark.sql import functions as fn

    found = inputs.deliveries.filter(is_violation()).withColumn("slice", slice_of())
    # Messages are fewer than hops, and say the same; only to look here they would not be made.
    turns = next_turns(inputs.hops if inputs.written is None else inputs.written, found)
    is_its = same(found, turns, (*PLACE, "t_selected_ns"))
    ended = found.join(turns, is_its, "left").select(found["*"], "t_next_ns")
    service = fn.least("t_next_ns", "t_egress_ns") - fn.col("t_selected_ns")
    return (
        ended.withColumn("service_ns", service)
        .withColumn("egress_ns", fn.col("egress_ns") - service)
        .withColumn("observed_ns", fn.col("latency_ns"))
        .withColumn("over_ns", fn.col("latency_ns") - fn.col("bound_ns"))
        .select(*COLUMNS)
    )


def next_turns(seen: DataFrame, found: DataFrame) -> DataFrame:
    """When a node chose its next message, after each that it chose while a late one was on its way out."""
    from pyspark.sql import Window
    from pyspark.sql import functions as fn

    # Few of all messages were chosen in these milliseconds; only they are compared.
    until = f"greatest(t_selected_ns, least(t_egress_ns, t_selected_ns + {LOOK_NS}))"
    steps = fn.expr(f"sequence(t_selected_ns div {STEP_NS}, {until} div {STEP_NS})")
    wanted = found.select(*PLACE, fn.explode(steps).alias("step"))
    wanted = wanted.select(fn.xxhash64(*PLACE, "step").alias("when"))
    chosen = seen.filter(fn.col("t_selected_ns").isNotNull())
    chosen = chosen.withColumn("slice", slice_of()).withColumn("node", broker())
    timed = chosen.withColumn("when", fn.xxhash64(*PLACE, fn.expr(f"t_selected_ns div {STEP_NS}")))
    near = timed.join(fn.broadcast(wanted.distinct()), "when", "left_semi")
    turns = near.select(*PLACE, "t_selected_ns").distinct()
    following = fn.lead("t_selected_ns").over(Window.partitionBy(*PLACE).orderBy("t_selected_ns"))
    return turns.withColumn("t_next_ns", following)


def same(left: DataFrame, right: DataFrame, names: tuple[str, ...]) -> Column:
    """Whether rows agree in these columns; a run or node without a name agrees with itself."""
    from pyspark.sql import functions as fn

    found = fn.lit(True)
    for name in names:
        found = found & left[name].eqNullSafe(right[name])
    return found


def merge(partials: DataFrame) -> DataFrame:
    """All of them."""
    return partials


def present(merged: DataFrame) -> DataFrame:
    """As it is."""
    return merged


def with_gaps(found: DataFrame, is_gapped: Column) -> DataFrame:
    """The next choice that is known of need not be the next one."""
    from pyspark.sql import functions as fn

    service = fn.coalesce("service_ns", fn.lit(0))
    egress = fn.when(is_gapped, fn.col("egress_ns") + service).otherwise(fn.col("egress_ns"))
    return found.withColumns({"egress_ns": egress, "service_ns": fn.when(~is_gapped, fn.col("service_ns"))})


TABLE = Table("violations", partial, merge, present, with_gaps)
