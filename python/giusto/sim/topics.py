"""What became of the messages of each topic, from the records of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from giusto.record import Outcome

if TYPE_CHECKING:
    import pyarrow as pa


class TopicFigures(NamedTuple):
    """Outcomes of one topic, and percentiles of the delays of what arrived, in time or late.

    `ideal` is how many deliveries there should have been, one for each message and subscription, of those
    that ended: what was still under way has no record and no topic.
    """

    name: str
    ideal: int
    delivered: int
    late: int
    expired: int
    overflow: int
    lost: int
    policed: int
    delay_p50_ns: int | None
    delay_p99_ns: int | None
    delay_max_ns: int | None


def figures(records: pa.Table, names: list[str]) -> list[TopicFigures]:
    """One for each topic, in the order of `names`."""
    import pyarrow.compute as pc

    # A record without a subscriber that is not of a policed message is of a hop.
    ended = pc.or_(pc.is_valid(records["subscriber"]), pc.equal(records["outcome"], Outcome.POLICED.value))
    kept = records.select(["topic", "outcome", "t_sent_ns", "t_received_ns"]).filter(ended)
    return [_topic(kept.filter(pc.equal(kept["topic"], name)), name) for name in names]


def _topic(records: pa.Table, name: str) -> TopicFigures:
    import pyarrow.compute as pc

    counted = pc.value_counts(records["outcome"].cast("string")).to_pylist()
    counts = {each["values"]: each["counts"] for each in counted}
    outcomes: dict[str, Any] = {outcome.value: counts.get(outcome.value, 0) for outcome in Outcome}
    delays = pc.subtract(records["t_received_ns"], records["t_sent_ns"]).drop_null()
    p50_ns, p99_ns, max_ns = pc.quantile(delays, q=[0.5, 0.99, 1.0], interpolation="higher").to_pylist()
    return TopicFigures(
        name=name,
        ideal=records.num_rows - outcomes["policed"],
        **outcomes,
        delay_p50_ns=p50_ns,
        delay_p99_ns=p99_ns,
        delay_max_ns=max_ns,
    )
