"""Gold tables against numbers that were worked out by hand, on one afternoon of a ward."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.spark.records import at_subscriber, frame, plain, seen

from giusto.pipeline.tables import silver
from giusto.pipeline.tables.catalog import table
from giusto.pipeline.tables.table import Inputs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

FACTS = "run string, node string, at_ns long, output string, topic string, bound_ns long"
# Bound of 50, deadline of 60, worth 2, costs 1.
ALARM = {"topic": "alarm", "bound_ns": 50, "deadline_ns": 60, "price": 2.0, "penalty": 1.0}
PULSE = {"topic": "pulse", "publisher": "oximeter", "subscription": 2, "deadline_ns": 100, "price": 0.5}
NOBODY = {"subscriber": None, "subscription": None}

ROWS: list[dict[str, Any]] = [
    # Alarms. Sent on after 40, and with the subscriber after 45: within all.
    seen(1_000, ingress=1_010, selected=1_030, egress=1_040, sequence=0, **ALARM),
    at_subscriber(1_000, 1_045, sequence=0, **ALARM),
    # After 52: 2 more than the bound, in time for the deadline.
    seen(2_000, ingress=2_010, selected=2_040, egress=2_052, sequence=1, **ALARM),
    # After 55, and the clocks may be 10 apart: nobody knows.
    seen(3_000, ingress=3_010, selected=3_040, egress=3_055, sequence=2, clock_error_ns=10, **ALARM),
    # After 75: beyond bound and deadline, 8 of it after the broker had sent it on.
    seen(4_000, ingress=4_012, selected=4_050, egress=4_067, sequence=3, **ALARM),
    at_subscriber(4_000, 4_075, sequence=3, outcome="late", **ALARM),
    # Dropped while it waited for the subscriber.
    seen(5_000, ingress=5_010, selected=5_030, sequence=4, outcome="overflow", **ALARM),
    # Pulse: no bound. After 20, and after 130.
    seen(2_030, ingress=2_031, selected=2_045, egress=2_050, sequence=0, **PULSE),
    seen(4_000, ingress=4_001, selected=4_056, egress=4_130, sequence=1, outcome="late", **PULSE),
    # Dropped for its age when it had been chosen: it missed its deadline as well.
    seen(8_000, ingress=8_001, selected=8_300, sequence=2, outcome="expired", **PULSE),
    # A flooder that nobody listens to, and messages that were too old when their turn came.
    seen(6_000, ingress=6_010, sequence=0, topic="noise", publisher="flooder", outcome="policed", **NOBODY),
    seen(7_000, ingress=7_010, sequence=1, topic="noise", publisher="flooder", outcome="policed", **NOBODY),
    seen(6_500, ingress=6_510, selected=6_900, sequence=9, topic="pulse", outcome="expired", **NOBODY),
    # Chosen after the violation at 4,050 to go on over a link.
    seen(4_000, ingress=4_002, selected=4_053, egress=4_060, node="hub->leaf", topic="image", **NOBODY),
    # Chosen after the violation at 2,040 in another broker: no neighbour of it.
    seen(2_000, ingress=2_020, selected=2_041, egress=2_043, node="elsewhere", topic="image"),
]


@pytest.fixture(scope="module")
def inputs(spark: SparkSession) -> Inputs:
    """All that happened, with what the broker said of itself."""
    made = silver.silver(frame(spark, ROWS, 10_000))
    said = [
        ("r", "hub", 1, "fifo", "alarm", 40),
        ("r", "hub", 2, "mtep", "alarm", 30),
        ("r", "hub", 2, "mtep", "pulse", 20),
        ("another", "hub", 2, "mtep", "alarm", 49),
    ]
    facts = spark.createDataFrame(said, FACTS)
    return Inputs(
        spark.createDataFrame(made.deliveries.toArrow()), spark.createDataFrame(made.hops.toArrow()), facts
    )


def shown(inputs: Inputs, name: str) -> list[dict[str, Any]]:
    """A table as people read it."""
    return plain(table(name).of(inputs))


def test_every_delivery_is_held_against_its_bound_and_deadline(inputs: Inputs) -> None:
    audit = {row["topic"]: row for row in shown(inputs, "contract_audit")}
    assert audit.keys() == {"alarm", "pulse"}
    assert audit["alarm"] == {
        "run": "r",
        "topic": "alarm",
        "publisher": "monitor",
        "subscriber": "nurse",
        "subscription": 1,
        "deliveries": 5,
        "with_bound": 5,
        "violations": 2,  # after 52 and 75
        "uncertain": 1,  # after 55, give or take 10
        "misses": 1,  # after 75
        "lost": 1,
        "largest_ns": 75,
        "bound_ns": 50,
        "deadline_ns": 60,
        "largest_ratio": 1.5,
        "proved_ns": 40,  # the largest of the run
        "proved_ratio": 75 / 40,
        "verdict": "violated",
    }
    pulse = audit["pulse"]
    assert (pulse["deliveries"], pulse["with_bound"], pulse["misses"], pulse["lost"]) == (3, 0, 2, 1)
    assert pulse["verdict"] == "no bound"
    assert (pulse["largest_ns"], pulse["bound_ns"], pulse["largest_ratio"]) == (130, None, None)
    assert (pulse["proved_ns"], pulse["proved_ratio"]) == (None, None), "nothing was promised on it"


def test_a_contract_within_the_error_of_its_clocks_is_uncertain(inputs: Inputs) -> None:
    audit = table("contract_audit")
    only = Inputs(inputs.deliveries.filter("topic = 'alarm' and sequence in (0, 2)"), inputs.hops)
    (row,) = plain(audit.of(only))
    assert (row["proved_ns"], row["proved_ratio"]) == (None, None), "nobody said it"
    assert (row["verdict"], row["uncertain"], row["violations"]) == ("uncertain", 1, 0)


def test_what_was_promised_nothing_is_not_held_against_the_bound_that_was_proved(inputs: Inputs) -> None:
    from pyspark.sql import functions as fn

    # The slowest one waited while its topic came under contract.
    is_drained = fn.col("sequence") == 3
    rows = inputs.deliveries.withColumn("bound_ns", fn.when(~is_drained, fn.col("bound_ns")))
    audit = table("contract_audit").of(Inputs(rows.filter("topic = 'alarm'"), inputs.hops, inputs.facts))
    (row,) = plain(audit)
    assert (row["largest_ns"], row["with_bound"], row["proved_ratio"]) == (75, 4, 55 / 40)


def test_violations_are_listed_with_where_their_time_went(inputs: Inputs) -> None:
    parts = ("network_in_ns", "queue_ns", "service_ns", "egress_ns", "network_out_ns")
    listed = {row["sequence"]: row for row in shown(inputs, "violations")}
    assert listed.keys() == {1, 3}
    # Chosen at 2,040, the next one at 2,045: 5 of service, and 7 until it was sent on.
    assert [listed[1][part] for part in parts] == [10, 30, 5, 7, None]
    # Chosen at 4,050, the next one at 4,053, sent on at 4,067, received at 4,075.
    assert [listed[3][part] for part in parts] == [12, 38, 3, 14, 8]
    assert [(row["observed_ns"], row["over_ns"]) for row in (listed[1], listed[3])] == [(52, 2), (75, 25)]
    assert (listed[3]["t_sent_ns"], listed[3]["wall_ns"], listed[3]["node"]) == (4_000, 14_000, "hub")
    for row in listed.values():
        assert sum(row[part] or 0 for part in parts) == row["observed_ns"]


def test_earnings_are_prices_in_time_less_penalties(inputs: Inputs) -> None:
    earnings = {row["topic"]: row for row in shown(inputs, "earnings")}
    assert earnings.keys() == {"alarm", "pulse"}
    alarm = earnings["alarm"]
    # Of five, three came in time; one was late and one dropped: 3 × 2 - 2 × 1.
    assert (alarm["ideal"], alarm["valid"], alarm["late_or_lost"], alarm["success_rate"]) == (5, 3, 2, 0.6)
    assert (alarm["price_sum"], alarm["penalty_sum"], alarm["earning"]) == (6.0, 2.0, 4.0)
    assert (alarm["ideal_earning"], alarm["policy"], alarm["node"]) == (10.0, "mtep", "hub")
    # One of three in time, and no penalty was asked.
    pulse = earnings["pulse"]
    assert (pulse["earning"], pulse["ideal_earning"], pulse["success_rate"]) == (0.5, 1.5, 1 / 3)


def test_without_facts_the_policy_is_unknown(inputs: Inputs) -> None:
    rows = plain(table("earnings").of(Inputs(inputs.deliveries, inputs.hops)))
    assert {row["policy"] for row in rows} == {None}


def test_losses_are_counted_by_reason(inputs: Inputs) -> None:
    losses = shown(inputs, "losses")
    found = {(row["topic"], row["outcome"], row["subscriber"]): row for row in losses}
    assert {key: row["count"] for key, row in found.items()} == {
        ("alarm", "overflow", "nurse"): 1,
        ("noise", "policed", None): 2,
        ("pulse", "expired", None): 1,
        ("pulse", "expired", "nurse"): 1,
    }
    noise = found["noise", "policed", None]
    assert (noise["publisher"], noise["first_ns"], noise["last_ns"]) == ("flooder", 6_000, 7_000)


def test_delays_are_those_of_what_came(inputs: Inputs) -> None:
    alarm = next(row for row in shown(inputs, "topic_latency") if row["topic"] == "alarm")
    # 45, 52, 55 and 75: the median by the nearest rank is the second.
    assert (alarm["count"], alarm["p50_ns"], alarm["p90_ns"], alarm["max_ns"]) == (4, 52, 75, 75)
    assert (alarm["histogram"], alarm["bound_ns"]) == ({45: 1, 52: 1, 55: 1, 75: 1}, 50)
