"""Which part of a node's work each flow, its topic and its client got, beside what was allotted to them.

Work is counted in quanta, one per started fragment of a message, in the window in which it was chosen. What
is under contract is served before the rest, so each class is a whole of its own. The shares are of all quanta
of the class: of the flow, of all flows of its topic, of all flows of its client. So are the allotments that
stand against them; `allotted_client` is θ_i (S0, 5). `allotted_cells` is r_k (S0, 1), a topic's part of the
cells: a cell has a quantum for each publisher, and `allotted_topic` is what that comes to in quanta.

A share below its allotment is a broken promise only if the flow, or every flow of the topic or client, had
work waiting all the time: `backlogged` says so of a flow, by 64 instants of each window, at which a message
of it either waited or not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from giusto.pipeline.tables.table import Inputs, Table

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

FLOW = ("run", "node", "topic", "client")
KEY = (*FLOW, "window_start_ns")
CLASS = ("run", "node", "window_start_ns", "class")
LOOKS = 64
ALLOTTED = (
    "struct<at_ns: bigint, guarded: boolean, cells: double, topic: double, client: double, flow: double>"
)
SAID = ("at_ns", "guarded", "cells_share", "quanta_share", "client_share", "flow_share")
"""What facts call that."""
ALLOTMENTS = ("flow", "topic", "client", "cells")
FRAGMENT_BYTES = 65_536
"""What a quantum serves at a broker that does not say."""


def partial(inputs: Inputs) -> DataFrame:
    """Messages that were chosen, and instants at which some waited, for each flow and window."""
    from pyspark.sql import functions as fn

    chosen = inputs.selections.withColumnRenamed("publisher", "client")
    found = summed(in_windows(with_quanta(chosen, inputs.facts), inputs.window_ns))
    said = found.withColumn("window_ns", fn.lit(inputs.window_ns).cast("long"))
    return with_allotment(said, inputs.facts)


def with_quanta(chosen: DataFrame, facts: DataFrame | None) -> DataFrame:
    """How many quanta each message took, by the fragments of its node."""
    from pyspark.sql import functions as fn

    fragment = fn.lit(FRAGMENT_BYTES).cast("long")
    if facts is not None:
        said = facts.filter("fragment_bytes > 0").groupBy("run", "node")
        known = said.agg(fn.max_by("fragment_bytes", "at_ns").alias("fragment_bytes"))
        chosen = chosen.join(fn.broadcast(known), ["run", "node"], "left")
        fragment = fn.coalesce("fragment_bytes", fragment)
    sized = chosen.withColumn("fragment_bytes", fragment)
    started = fn.expr("(size_bytes + fragment_bytes - 1) div fragment_bytes")
    return sized.withColumn("quanta", fn.greatest(started, fn.lit(1)))


def in_windows(chosen: DataFrame, window_ns: int) -> DataFrame:
    """What each flow had served in a window, and at which instants something of it waited."""
    from pyspark.sql import functions as fn

    # From the first window to the last. A window between them is said once, however many waited through it.
    first, last = fn.col("first") + 1, fn.col("last") - 1
    since = fn.greatest(first, fn.coalesce(fn.col("covered") + 1, first))
    between = fn.when(since <= last, fn.sequence(since, last)).otherwise(fn.array().cast("array<bigint>"))
    is_short = fn.col("first") == fn.col("last")
    at_first = part(fn.col("first"), fn.col("at_first"), is_short)
    at_last = fn.when(is_short, fn.array()).otherwise(
        fn.array(part(fn.col("last"), fn.col("at_last"), fn.lit(True)))
    )
    full = fn.transform(between, lambda window: part(window, fn.lit(-1), fn.lit(False)))
    said = fn.concat(fn.array(at_first), at_last, full)
    parts = spans(chosen, window_ns).select(*FLOW, fn.explode(said).alias("said")).select(*FLOW, "said.*")
    return parts.withColumn("window_start_ns", fn.col("window") * window_ns).drop("window")


def part(window: Column, waited: Column, is_served: Column) -> Column:
    """What some messages are to one window: when they waited, and how many of them were served there."""
    from pyspark.sql import functions as fn

    counts = [
        fn.when(is_served, fn.col(name)).otherwise(0).cast("long").alias(name)
        for name in ("served", "quanta")
    ]
    return fn.struct(window.cast("long").alias("window"), waited.cast("long").alias("waited"), *counts)


def spans(chosen: DataFrame, window_ns: int) -> DataFrame:
    """Messages of a flow that waited from one window to another, as one; which windows others wait through.

    Who came no later and stays longer waits through all windows from the next one to `covered`.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as fn

    timed = (
        chosen.withColumn("first", fn.expr(f"t_ingress_ns div {window_ns}"))
        .withColumn("last", fn.expr(f"t_selected_ns div {window_ns}"))
        .withColumn("came", look("t_ingress_ns", "first", window_ns))
        .withColumn("left", look("t_selected_ns", "last", window_ns))
        .withColumn("until", fn.when(fn.col("first") == fn.col("last"), fn.col("left")).otherwise(LOOKS))
    )
    found = timed.groupBy(*FLOW, "first", "last").agg(
        fn.count("*").alias("served"),
        fn.sum("quanta").alias("quanta"),
        fn.bit_or(looks("came", "until")).alias("at_first"),
        fn.bit_or(looks("0", "left")).alias("at_last"),
    )
    before = Window.partitionBy(*FLOW).orderBy("first", "last").rowsBetween(Window.unboundedPreceding, -1)
    return found.withColumn("covered", fn.max(fn.col("last") - 1).over(before))


def look(instant: str, window: str, window_ns: int) -> Column:
    """The first look of a window that is not before an instant, from 0 to LOOKS."""
    from pyspark.sql import functions as fn

    step_ns = max(1, window_ns // LOOKS)
    place = fn.expr(f"({instant} - {window} * {window_ns} + {step_ns - 1}) div {step_ns}")
    return fn.least(fn.greatest(place, fn.lit(0)), fn.lit(LOOKS)).cast("int")


def looks(low: str, high: str) -> Column:
    """The looks from one to before another, as bits."""
    from pyspark.sql import functions as fn

    bits = f"shiftleft(shiftrightunsigned(-1L, {LOOKS} - ({high} - {low})), {low})"
    return fn.expr(f"case when {low} < {high} then {bits} else 0L end")


def summed(parts: DataFrame, *also: Column) -> DataFrame:
    """Counts add up; an instant counts if any part had something waiting then."""
    from pyspark.sql import functions as fn

    counts = (fn.sum(name).cast("long").alias(name) for name in ("served", "quanta"))
    return parts.groupBy(*KEY).agg(*counts, fn.bit_or("waited").alias("waited"), *also)


def with_allotment(found: DataFrame, facts: DataFrame | None) -> DataFrame:
    """The newest allotment from before the end of each window, if the node has said any."""
    from pyspark.sql import functions as fn

    if facts is None:
        return found.withColumn("allotted", fn.lit(None).cast(ALLOTTED))
    said = facts.filter(fn.col("client").isNotNull()).select(*FLOW, fn.struct(*SAID).alias("said"))
    history = said.groupBy(*FLOW).agg(fn.sort_array(fn.collect_list("said"), asc=False).alias("history"))
    end = fn.col("window_start_ns") + fn.col("window_ns")
    newest = fn.try_element_at(fn.filter("history", lambda each: each.at_ns < end), fn.lit(1))
    joined = found.join(fn.broadcast(history), [*FLOW], "left")
    return joined.withColumn("allotted", newest.cast(ALLOTTED)).drop("history")


def merge(partials: DataFrame) -> DataFrame:
    """Windows of a flow add up."""
    from pyspark.sql import functions as fn

    return summed(partials, fn.max("window_ns").alias("window_ns"), fn.max("allotted").alias("allotted"))


def present(merged: DataFrame) -> DataFrame:
    """Shares of all that the node chose of a class in a window."""
    from pyspark.sql import functions as fn

    # What nobody has said to be under contract is with the rest.
    classed = merged.withColumn("class", fn.coalesce("allotted.guarded", fn.lit(False)))
    return classed.select(
        *KEY,
        fn.col("allotted.guarded").alias("guarded"),
        "served",
        "quanta",
        share_of(fn.col("quanta")).alias("share"),
        share_of(together("topic")).alias("topic_share"),
        share_of(together("client")).alias("client_share"),
        *(fn.col(f"allotted.{name}").alias(f"allotted_{name}") for name in ALLOTMENTS),
        (fn.bit_count("waited") / LOOKS).alias("waiting"),
        (fn.bit_count("waited") == LOOKS).alias("backlogged"),
    )


def share_of(quanta: Column) -> Column:
    """Quanta as a part of all of their class; of none there is no part."""
    from pyspark.sql import functions as fn

    return quanta / fn.nullif(together(), fn.lit(0))


def together(*same: str) -> Column:
    """The quanta of all flows of a class in a window, or of those of one topic or client."""
    from pyspark.sql import Window
    from pyspark.sql import functions as fn

    return fn.sum("quanta").over(Window.partitionBy(*CLASS, *same))


TABLE = Table("shares", partial, merge, present)
