"""Deliveries: what was seen of one message in several places is one row, and no row goes uncounted."""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from tests.spark.records import at_subscriber, frame, plain, random_rows, seen

from giusto.pipeline.tables import repeated, silver

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

MORNING_NS = 1_000_000
PARTS = ("network_in_ns", "queue_ns", "egress_ns", "network_out_ns")


def cases() -> dict[str, list[dict[str, Any]]]:
    """Records by the topic that tells the cases apart."""
    once = seen(100, ingress=110, selected=130, egress=150, deadline_ns=60)
    second = {**once, "subscription": 2, "deadline_ns": None}
    lost = {"subscriber": None, "subscription": None}
    return {
        "seen once": [once],
        "read three times": [once, once, once],
        "seen by its subscriber": [once, at_subscriber(100, 155)],
        "late at its subscriber": [once, at_subscriber(100, 161)],
        "two subscriptions": [once, second, at_subscriber(100, 155), at_subscriber(100, 157, subscription=2)],
        "without numbers": [once, second, *[at_subscriber(100, at, subscription=None) for at in (155, 157)]],
        # Of version 1: one client, two subscriptions, and nothing that tells them apart.
        "two of version 1": [
            seen(100, ingress=110, selected=130, egress=at, subscription=None) for at in (150, 160)
        ],
        "lost in two places": [
            seen(100, ingress=110, node=node, outcome="policed", **lost) for node in ("a", "a", "b", "b")
        ],
        "by its subscriber alone": [at_subscriber(100, 155)],
        "two brokers": [
            seen(100, ingress=110, selected=130, egress=135, node="first"),
            seen(100, ingress=145, selected=146, egress=150, node="second", hop=1),
            at_subscriber(100, 158, hop=2),
        ],
        "policed": [seen(100, ingress=110, outcome="policed", **lost)],
        "expired": [seen(100, ingress=110, selected=120, outcome="expired", **lost)],
        "without names": [{**once, "run": None, "node": None, "publisher": None}] * 2,
        "two in flight": [once, {**once, "sequence": 1}, {**once, "t_sent_ns": 99}],
        "on a link": [
            seen(100, ingress=110, selected=130, egress=150, received=170, node="a->b", **lost),
            seen(100, ingress=180, selected=185, egress=190, received=200, node="b", hop=1),
        ],
    }


@pytest.fixture(scope="module")
def found(spark: SparkSession) -> tuple[dict[str, list[dict[str, Any]]], silver.Silver]:
    """The deliveries of all cases, by topic."""
    rows = [{**row, "topic": topic} for topic, case in cases().items() for row in case]
    made = silver.silver(frame(spark, rows, MORNING_NS))
    by_topic: dict[str, list[dict[str, Any]]] = {topic: [] for topic in cases()}
    for delivery in sorted(
        plain(made.deliveries), key=lambda row: (row["subscription"] or 0, row["sequence"])
    ):
        by_topic[delivery["topic"]].append(delivery)
    return by_topic, made


def test_each_delivery_is_one_row(found: tuple[dict[str, list[dict[str, Any]]], silver.Silver]) -> None:
    counts = {topic: len(rows) for topic, rows in found[0].items()}
    several = {"two subscriptions": 2, "without numbers": 2, "two in flight": 3, "lost in two places": 2}
    assert counts == dict.fromkeys(cases(), 1) | several


def test_times_and_parts_are_those_of_all_places(
    found: tuple[dict[str, list[dict[str, Any]]], silver.Silver],
) -> None:
    by_topic = found[0]
    # Until the broker sent it on: 150 - 100.
    (once,) = by_topic["seen once"]
    assert (once["latency_ns"], once["hops"], once["network_out_ns"], once["inside_ns"]) == (50, 1, None, 40)
    assert (once["outcome"], once["wall_ns"], once["node"]) == ("delivered", MORNING_NS + 100, "hub")
    # 10 to the broker, 20 in its queue, 20 until it was sent, 5 to the subscriber.
    (received,) = by_topic["seen by its subscriber"]
    assert [received[part] for part in PARTS] == [10, 20, 20, 5]
    assert (received["latency_ns"], received["t_received_ns"], received["node"]) == (55, 155, "hub")
    # 10 to the first broker and 10 between them; queues 20 and 1; sending 5 and 4; 8 to the subscriber.
    (two,) = by_topic["two brokers"]
    assert [two[part] for part in PARTS] == [20, 21, 9, 8]
    assert (two["latency_ns"], two["hops"], two["node"]) == (58, 2, "second")
    # Two at one place count once: 20 in its queue, and 30 until the later one was sent.
    (unnumbered,) = by_topic["two of version 1"]
    assert [unnumbered[part] for part in PARTS] == [10, 20, 30, None]
    assert (unnumbered["latency_ns"], unnumbered["records"]) == (60, 2)
    (alone,) = by_topic["by its subscriber alone"]
    assert (alone["latency_ns"], alone["node"], alone["t_ingress_ns"], alone["hops"]) == (55, None, None, 1)


def test_what_a_subscriber_had_after_its_deadline_is_late(
    found: tuple[dict[str, list[dict[str, Any]]], silver.Silver],
) -> None:
    # The deadline is 60 after it was sent: the broker was in time at 150, the subscriber had it at 161.
    (late,) = found[0]["late at its subscriber"]
    assert (late["outcome"], late["latency_ns"]) == ("late", 61)
    assert found[0]["seen by its subscriber"][0]["outcome"] == "delivered"


def test_two_subscriptions_of_one_client_are_two_deliveries(
    found: tuple[dict[str, list[dict[str, Any]]], silver.Silver],
) -> None:
    assert [row["latency_ns"] for row in found[0]["two subscriptions"]] == [55, 57]
    # A subscriber that does not know the numbers had both for certain at the later instant.
    assert [row["latency_ns"] for row in found[0]["without numbers"]] == [57, 57]


def test_what_was_lost_before_it_was_matched_has_no_subscriber(
    found: tuple[dict[str, list[dict[str, Any]]], silver.Silver],
) -> None:
    assert sorted(row["node"] for row in found[0]["lost in two places"]) == ["a", "b"]
    for topic in ("policed", "expired"):
        (lost,) = found[0][topic]
        assert (lost["outcome"], lost["subscriber"], lost["latency_ns"]) == (topic, None, None)


def test_every_row_is_of_a_delivery_or_a_copy_or_a_duplicate(
    found: tuple[dict[str, list[dict[str, Any]]], silver.Silver],
) -> None:
    by_topic, made = found
    used = {topic: sum(row["records"] for row in rows) for topic, rows in by_topic.items()}
    duplicates = Counter(row["topic"] for row in plain(made.duplicates))
    copies = Counter(row["topic"] for row in plain(made.hops.filter(silver.is_copy())))
    assert duplicates == {"read three times": 2, "without names": 1, "lost in two places": 2}
    assert copies == {"on a link": 1}
    assert {topic: used[topic] + duplicates[topic] + copies[topic] for topic in used} == {
        topic: len(rows) for topic, rows in cases().items()
    }
    hops = Counter(row["topic"] for row in plain(made.hops))
    assert hops == {topic: len(rows) - duplicates[topic] for topic, rows in cases().items()}


def with_more(rng: random.Random, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows, and others of the same messages: other subscriptions, another broker, one without a number."""
    others = [
        *({**row, "subscription": rng.choice([None, 1, 2, 3])} for row in rng.sample(rows, 60)),
        *({**row, "node": "second", "hop": 1} for row in rng.sample(rows, 20)),
        *({**row, "hop": 3, "price": 7.5} for row in rng.sample(rows, 20)),
    ]
    return rows + others


def test_it_does_not_matter_how_rows_that_belong_together_are_found(
    spark: SparkSession, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(seed)
    rows = with_more(rng, random_rows(rng, 400))
    rows += rng.sample(rows, 40)
    rng.shuffle(rows)
    made = frame(spark, rows).localCheckpoint()
    by_spark = {row["hash"]: row["weight"] for row in repeated.counted(made).collect()}
    weights = list(by_spark.values())
    tangled = sum(weight not in (*repeated.SINGLE, repeated.PAIR) for weight in weights)
    assert weights.count(repeated.PAIR) > 0 < tangled
    found, _ = repeated.fetched(made)
    assert dict(zip(*found.to_pydict().values(), strict=True)) == by_spark
    monkeypatch.setattr(repeated, "FEW", 0)  # pairs are picked out
    by_hash = silver.silver(made)
    deliveries = plain(by_hash.deliveries)
    # Then they are joined, because they are many or too many to be told to all; then nothing is told.
    ways = (
        (10**9, repeated.MOST_REPEATED, len(rows)),
        (0, tangled, None),
        (0, tangled, len(rows)),
        (0, 0, None),
    )
    for few, told, most in ways:
        monkeypatch.setattr(repeated, "FEW", few)
        monkeypatch.setattr(repeated, "MOST_REPEATED", told)
        other = silver.silver(made, most)
        assert deliveries == plain(other.deliveries)
        assert plain(by_hash.hops) == plain(other.hops)
        assert plain(by_hash.duplicates) == plain(other.duplicates)
    duplicates, copies = by_hash.duplicates.count(), by_hash.hops.filter(silver.is_copy()).count()
    assert duplicates >= 40
    assert sum(row["records"] for row in deliveries) + copies + duplicates == len(rows)


def test_the_parts_of_a_delay_add_up_to_it(spark: SparkSession, seed: int) -> None:
    rows = random_rows(random.Random(seed), 300)
    for row in plain(silver.silver(frame(spark, rows)).deliveries):
        if row["latency_ns"] is not None and row["node"] is not None:
            assert sum(row[part] or 0 for part in PARTS) == row["latency_ns"]
