"""The tables that become models, on records whose results can be computed by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import records
from records import seen

from giusto.pipeline.tables.gold import arrival_envelope, link_model, quantum, shares
from giusto.pipeline.tables.silver import silver
from giusto.pipeline.tables.table import Inputs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MS = 1_000_000
S = 1_000 * MS
# Within a slice of ten seconds, and not at its edge.
T0 = 10 * S + 200 * MS
FACTS = (
    "run string, node string, at_ns long, fragment_bytes long, topic string, guarded boolean, "
    "cells_share double, quanta_share double, client string, client_share double, flow_share double"
)


def inputs(
    spark: SparkSession, rows: list[dict[str, Any]], facts: list[tuple[Any, ...]] | None = None
) -> Inputs:
    """What the tables are made of, where each row stands for itself."""
    found = records.frame(spark, rows)
    said = None if facts is None else spark.createDataFrame(facts, FACTS)
    return Inputs(found, found, said)


def test_shares_are_of_all_that_a_node_chose_in_a_window(spark: SparkSession) -> None:
    # Three of monitor and two of scanner are chosen in the window from 10 s; one of monitor goes to two.
    rows = [
        seen(T0, ingress=T0, selected=T0 + MS, sequence=1, egress=T0 + 2 * MS),
        seen(T0, ingress=T0, selected=T0 + MS, sequence=1, egress=T0 + 2 * MS, subscriber="doctor"),
        seen(T0, ingress=T0, selected=T0 + 2 * MS, sequence=2, egress=T0 + 3 * MS),
        seen(T0, ingress=T0, selected=T0 + 3 * MS, sequence=3, egress=T0 + 4 * MS),
        # It has four fragments of 70 bytes; the others have two.
        seen(T0, ingress=T0, selected=T0 + 4 * MS, egress=T0 + 5 * MS, publisher="scanner", size_bytes=211),
        # Dropped before it was chosen: nobody served it.
        seen(T0, ingress=T0, sequence=4, subscriber=None, outcome="policed"),
        # It waits through all of the window from 20 s, in which nothing else is chosen, to 31 s.
        seen(19 * S, ingress=19 * S, selected=31 * S, sequence=5, egress=31 * S + MS),
        # One of scanner goes on over a link, for nobody here: the broker at its beginning chose it.
        seen(
            T0,
            ingress=T0,
            selected=T0,
            sequence=9,
            publisher="scanner",
            subscriber=None,
            node="hub->leaf",
            egress=T0,
            received=T0 + 9,
        ),
    ]
    # What counts is the last word before the end of a window.
    rows += [
        # Under contract, and so no part of the others' whole.
        seen(T0, ingress=T0, selected=T0 + 5 * MS, egress=T0 + 6 * MS, publisher="pump", topic="dose"),
    ]
    said = [
        ("r", "hub", 5, 70, "ward/3/alarm", False, 0.25, 0.3, "monitor", 0.125, 0.1),
        ("r", "hub", 15 * S, 70, "ward/3/alarm", False, 0.5, 0.4, "monitor", 0.375, 0.2),
        ("r", "hub", 29 * S, 70, "ward/3/alarm", False, 0.75, None, "monitor", 0.625, 0.3),
        ("r", "hub", 5, 70, "dose", True, 1.0, 1.0, "pump", 1.0, 1.0),
    ]
    found = {
        (row["client"], row["window_start_ns"] // S): row
        for row in records.plain(shares.TABLE.of(inputs(spark, rows, said)))
    }
    assert {key: row["served"] for key, row in found.items()} == {
        ("monitor", 10): 3,
        ("scanner", 10): 2,
        ("pump", 10): 1,
        ("monitor", 20): 0,
        ("monitor", 30): 1,
    }
    quanta = {client: found[client, 10]["quanta"] for client in ("monitor", "scanner", "pump")}
    assert quanta == {"monitor": 6, "scanner": 6, "pump": 2}
    assert found["monitor", 10]["share"] == 0.5
    assert found["scanner", 10]["share"] == 0.5
    assert found["pump", 10]["share"] == 1.0
    assert (found["pump", 10]["guarded"], found["pump", 10]["allotted_flow"]) == (True, 1.0)
    assert [found["monitor", at]["allotted_flow"] for at in (10, 20, 30)] == [0.2, 0.3, 0.3]
    assert found["monitor", 30]["share"] == 1.0
    assert found["monitor", 20]["backlogged"]
    assert not found["monitor", 30]["backlogged"]
    # From 19 to 20 s it waits at 6 looks (every 156.25 ms), from 30 to 31 s at 7 of 64.
    assert found["monitor", 10]["waiting"] == 6 / 64
    assert found["monitor", 30]["waiting"] == 7 / 64
    names = ("allotted_cells", "allotted_topic", "allotted_client")
    allotted = {key: tuple(row[name] for name in names) for key, row in found.items()}
    assert allotted["monitor", 10] == (0.5, 0.4, 0.375)
    # Older facts do not say which part of all quanta a topic has.
    assert allotted["monitor", 20] == allotted["monitor", 30] == (0.75, None, 0.625)
    assert allotted["scanner", 10] == (None, None, None)


def test_topics_and_clients_have_the_shares_of_all_their_flows(spark: SparkSession) -> None:
    # x has 3 of 8 quanta by a; y has one by a and four by b; z is under contract, and a whole of its own.
    chosen = [("x", "a")] * 3 + [("y", "a")] + [("y", "b")] * 4 + [("z", "a")] * 2 + [("z", "b")]
    rows = [
        seen(T0, ingress=T0, selected=T0 + n * MS, sequence=n, topic=topic, publisher=client, size_bytes=1)
        for n, (topic, client) in enumerate(chosen)
    ]
    # In the next window y waits, and nothing of it is chosen until the window after that.
    rows.append(seen(19 * S, ingress=19 * S, selected=31 * S, sequence=99, topic="y", publisher="a"))
    # As 3 cells of x and one of y come to, which has two quanta.
    said = [
        ("r", "hub", 5, 70, "x", False, 0.75, 0.6, "a", 0.8, 0.6),
        ("r", "hub", 5, 70, "y", False, 0.25, 0.4, "a", 0.8, 0.2),
        ("r", "hub", 5, 70, "y", False, 0.25, 0.4, "b", 0.2, 0.2),
        ("r", "hub", 5, 70, "z", True, 1.0, 1.0, "a", 0.5, 0.5),
        ("r", "hub", 5, 70, "z", True, 1.0, 1.0, "b", 0.5, 0.5),
    ]
    names = ("share", "allotted_flow", "topic_share", "allotted_topic", "client_share", "allotted_client")
    found = {
        (row["topic"], row["client"], row["window_start_ns"] // S): tuple(row[name] for name in names)
        for row in records.plain(shares.TABLE.of(inputs(spark, rows, said)))
    }
    assert found == {
        ("x", "a", 10): (3 / 8, 0.6, 3 / 8, 0.6, 4 / 8, 0.8),
        ("y", "a", 10): (1 / 8, 0.2, 5 / 8, 0.4, 4 / 8, 0.8),
        ("y", "b", 10): (4 / 8, 0.2, 5 / 8, 0.4, 4 / 8, 0.2),
        ("z", "a", 10): (2 / 3, 0.5, 1.0, 1.0, 2 / 3, 0.5),
        ("z", "b", 10): (1 / 3, 0.5, 1.0, 1.0, 1 / 3, 0.5),
        ("y", "a", 20): (None, 0.2, None, 0.4, None, 0.8),
        ("y", "a", 30): (1.0, 0.2, 1.0, 0.4, 1.0, 0.8),
    }


def test_a_long_wait_in_short_windows_is_said_once_for_all_who_wait(spark: SparkSession) -> None:
    # A hundred come in the first 100 ms and are chosen 2 s later, one each ms.
    rows = [
        seen(T0 + n * MS, ingress=T0 + n * MS, selected=T0 + (2_000 + n) * MS, sequence=n) for n in range(100)
    ]
    given = replace(inputs(spark, rows), window_ns=MS)
    chosen = shares.with_quanta(given.selections, None)
    parts = shares.in_windows(chosen.withColumnRenamed("publisher", "client"), MS)
    assert parts.count() < 2 * 100 + 2_100
    found = {row["window_start_ns"]: row for row in records.plain(shares.TABLE.of(given))}
    assert sorted(found) == [T0 + n * MS for n in range(2_100)]
    assert [at for at, row in sorted(found.items()) if row["served"]] == [
        T0 + (2_000 + n) * MS for n in range(100)
    ]
    # The last one is chosen as its window begins: nothing waits in it.
    assert [at for at, row in found.items() if not row["backlogged"]] == [T0 + 2_099 * MS]


def test_a_link_has_the_moments_of_its_delays_per_kilobyte(spark: SparkSession) -> None:
    # 2 KB each, in 2, 4, 6 and 12 µs: 1, 2, 3 and 6 µs per KB.
    delays = [2_000, 4_000, 6_000, 12_000]
    rows = [
        seen(
            T0 + n,
            ingress=T0 + n,
            selected=T0 + n,
            subscriber=None,
            node="hub->leaf",
            size_bytes=2_048,
            sequence=n,
            egress=T0 + n,
            received=T0 + n + delay,
        )
        for n, delay in enumerate(delays)
    ]
    # Two are received: one by who says when, one by who does not. The second is empty, and has no KB.
    rows += [
        seen(T0, ingress=T0, selected=T0, egress=T0 + MS, sequence=7, size_bytes=1_024),
        records.at_subscriber(T0, T0 + 3 * MS, sequence=7, size_bytes=1_024),
        seen(T0, ingress=T0, selected=T0, egress=T0 + MS, sequence=8, size_bytes=0),
        records.at_subscriber(T0, T0 + 6 * MS, sequence=8, size_bytes=0),
    ]
    # A link on which nothing but empty messages went: their delays are known, those of a KB are not.
    empty = {"subscriber": None, "node": "hub->void", "size_bytes": 0}
    rows += [seen(T0, ingress=T0, selected=T0, egress=T0, received=T0 + 5, **empty)]
    both = silver(records.frame(spark, rows))
    model = link_model.TABLE.of(Inputs(both.deliveries, both.hops))
    found = {(row["source"], row["target"]): row for row in records.plain(model)}
    link = found.pop(("hub", "leaf"))
    assert (link["count"], link["least_ns"], link["largest_ns"], link["mean_ns"]) == (4, 2_000, 12_000, 6_000)
    assert (link["since_ns"], link["until_ns"]) == (T0, T0 + 3)
    # Mean 3; distances -2, -1, 0, 3: squares 14, cubes 18, fourth powers 98.
    assert link["mean_ns_per_kb"] == pytest.approx(3_000)
    assert link["variance"] == pytest.approx(14 / 3 * 1e6)
    skewness, kurtosis = 18 / 4 / (14 / 4) ** 1.5, 98 / 4 / (14 / 4) ** 2 - 3
    assert link["skewness"] == pytest.approx(skewness)
    assert link["excess_kurtosis"] == pytest.approx(kurtosis)
    assert link["normal_p"] == pytest.approx(math.exp(-4 / 12 * (skewness**2 + kurtosis**2 / 4)))
    assert link["normal"] is None, "four are too few to say"
    void = found.pop(("hub", "void"))
    assert (void["count"], void["mean_ns"], void["mean_ns_per_kb"], void["normal"]) == (1, 5, None, None)
    last = found.pop(("hub", "nurse"))
    assert (last["count"], last["mean_ns_per_kb"], last["variance"]) == (2, 2 * MS, None)
    assert last["largest_ns"] == 5 * MS
    assert not found


def test_a_quantum_is_measured_only_where_another_message_waited(spark: SparkSession) -> None:
    rows = [
        # Chosen at 0, 2, 5, 9 ms and 11 ms; the third came only after the second was chosen.
        seen(T0, ingress=T0, selected=T0, sequence=1, size_bytes=100, egress=T0 + MS),
        seen(T0, ingress=T0, selected=T0, sequence=1, size_bytes=100, egress=T0 + MS, subscriber="doctor"),
        seen(T0, ingress=T0, selected=T0 + 2 * MS, sequence=2, size_bytes=128, egress=T0 + 3 * MS),
        seen(T0 + 4 * MS, ingress=T0 + 4 * MS, selected=T0 + 5 * MS, sequence=3, egress=T0 + 6 * MS),
        seen(T0 + 4 * MS, ingress=T0 + 5 * MS, selected=T0 + 9 * MS, sequence=4, egress=T0 + 10 * MS),
        seen(T0 + 4 * MS, ingress=T0 + 6 * MS, selected=T0 + 11 * MS, sequence=5, egress=T0 + 12 * MS),
        # Two are chosen at one reading of the clock, and share the 6 ms until the next.
        *(
            seen(
                T0 + 20 * MS,
                ingress=T0 + 20 * MS,
                selected=T0 + 20 * MS,
                sequence=n,
                topic="x",
                size_bytes=5_000,
            )
            for n in (1, 2)
        ),
        seen(T0 + 20 * MS, ingress=T0 + 20 * MS, selected=T0 + 26 * MS, sequence=3, topic="x", size_bytes=9),
        # At 30, 31 and 32 ms, the second to go on over two links.
        seen(T0 + 30 * MS, ingress=T0 + 30 * MS, selected=T0 + 30 * MS, topic="y", size_bytes=20_000),
        *(
            seen(
                T0 + 30 * MS,
                ingress=T0 + 30 * MS,
                selected=T0 + 31 * MS,
                topic="z",
                size_bytes=20_000,
                subscriber=None,
                node=f"hub->{leaf}",
            )
            for leaf in ("one", "two")
        ),
        seen(T0 + 30 * MS, ingress=T0 + 30 * MS, selected=T0 + 32 * MS, sequence=1, topic="y"),
        # At the edge of its slice: one sent before might have been served in between.
        seen(20 * S, ingress=20 * S, selected=20 * S, sequence=6, egress=20 * S + MS),
        seen(20 * S, ingress=20 * S, selected=20 * S + MS, sequence=7, egress=20 * S + MS),
    ]
    found = records.plain(quantum.TABLE.of(inputs(spark, rows)))
    measured = {(row["size_class"], row["fan_out"]): row for row in found}
    assert set(measured) == {(128, 1), (128, 2), (8_192, 1), (32_768, 1), (32_768, 2)}
    assert [measured[32_768, fan_out]["max_ns"] for fan_out in (1, 2)] == [MS, MS]
    at_once = measured[8_192, 1]
    assert (at_once["count"], at_once["mean_ns"], at_once["max_ns"]) == (2, 3 * MS, 3 * MS)
    both = measured[128, 2]
    assert (both["count"], both["mean_ns"], both["max_ns"], both["largest_bytes"]) == (1, 2 * MS, 2 * MS, 100)
    # 5 to 9 ms and 9 to 11 ms.
    one = measured[128, 1]
    assert (one["count"], one["mean_ns"], one["max_ns"]) == (2, 3 * MS, 4 * MS)
    assert one["p50_ns"] == pytest.approx(2 * MS, rel=0.01)
    assert one["p99_ns"] == pytest.approx(4 * MS, rel=0.01)
    assert sum(one["histogram"].values()) == 2


def test_the_envelope_of_a_burst_is_what_an_offer_would_have_needed(spark: SparkSession) -> None:
    # One message each 10 ms was offered; the third and fourth come 1 ms after the one before.
    at_ms = [0, 10, 11, 12, 40]
    rows = [
        seen(T0 + at * MS, ingress=T0 + at * MS, sequence=n, subscriber=who, min_sep_ns=10 * MS)
        for n, at in enumerate(at_ms)
        for who in ("nurse", "doctor")
    ]
    # A subscriber's own records do not say what was offered.
    rows += [records.at_subscriber(T0 + at * MS, T0 + 50 * MS, sequence=n) for n, at in enumerate(at_ms)]
    rows += [seen(T0 + 3, ingress=T0, sequence=1, publisher="scanner", size_bytes=5_000)]
    found = records.plain(arrival_envelope.TABLE.of(inputs(spark, rows)))
    monitor = [row for row in found if row["publisher"] == "monitor"]
    offered = [row for row in monitor if row["offered"]]
    assert len(offered) == 1
    # From 0 to 12 ms come four: 4 - 12/10 = 2.8 messages, 18 ms of jitter beside one message.
    row = offered[0]
    assert (row["count"], row["closer"], row["exact"], row["rho_hz"]) == (5, 2, True, 100.0)
    assert (row["kept"], row["complete"]) == (None, True), "nobody says which burst was offered"
    assert row["sigma_messages"] == pytest.approx(2.8)
    assert row["excess_ns"] == 18 * MS
    assert (row["since_ns"], row["until_ns"], row["size_bytes"]) == (T0, T0 + 40 * MS, 500)
    # The grid begins below the mean rate (5 in 40 ms) and ends where one message is all, at 1 ms.
    rates = sorted(row["rho_hz"] for row in monitor if row["unit"] == "messages" and not row["offered"])
    assert rates[0] <= 125 <= rates[1]
    assert rates[-2] < 1_000 <= rates[-1]
    for row in monitor:
        if row["unit"] == "messages" and not row["offered"]:
            windows = [(1, 0), (2, 1), (3, 2), (4, 12), (5, 40)]
            expected = max(count - row["rho_hz"] * span / 1_000 for count, span in windows)
            assert row["sigma_messages"] == pytest.approx(expected)
    scanner = [row for row in found if row["publisher"] == "scanner"]
    assert {(row["unit"], row["sigma_messages"], row["sigma_bytes"]) for row in scanner} == {
        ("messages", 1.0, None),
        ("bytes", None, 5_000.0),
    }
