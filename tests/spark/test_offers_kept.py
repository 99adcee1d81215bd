"""Which flows kept what they had offered, with burst and jitter, on messages that can be counted by hand."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from records import frame, plain, seen, write_facts

from giusto.contract import Offer
from giusto.pipeline.tables import bronze
from giusto.pipeline.tables.gold import arrival_envelope
from giusto.pipeline.tables.table import Inputs
from giusto.trace.facts import limit_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

MS = 1_000_000
OFFER = {"min_sep": "10ms"}
# Four at once, three times: the last of four comes three separations early, 30 ms.
AT_MS = [100 * burst for burst in range(3) for _ in range(4)]


def sent(publisher: str, at_ms: list[int] = AT_MS, min_sep_ns: int | None = 10 * MS) -> list[dict[str, Any]]:
    """Messages of one flow."""
    return [
        seen(at * MS, ingress=at * MS, sequence=n, publisher=publisher, min_sep_ns=min_sep_ns)
        for n, at in enumerate(at_ms)
    ]


def facts(
    spark: SparkSession, folder: Path, *times: dict[str, Offer], tolerance_ns: int = 0
) -> DataFrame | None:
    """What clients offered, at some times."""
    said = [[{"client": name, **limit_of(offer)} for name, offer in offers.items()] for offers in times]
    topics = [[{"topic": "ward/3/alarm", "clients": clients}] for clients in said]
    write_facts(folder, *({"topics": each, "tolerance_ns": tolerance_ns} for each in topics))
    return bronze.facts(spark, folder)


def kept(
    spark: SparkSession, rows: list[dict[str, Any]], said: DataFrame | None, *gaps: str
) -> dict[str, bool | None]:
    """Whether each flow kept its offer; what is said in each of its rows."""
    found = frame(spark, rows)
    table = plain(arrival_envelope.TABLE.of(Inputs(found, found, said, gaps=frozenset(gaps))))
    words: dict[str, set[bool | None]] = {row["publisher"]: set() for row in table}
    for row in table:
        words[row["publisher"]].add(row["kept"])
    assert all(len(each) == 1 for each in words.values())
    return {name: each.pop() for name, each in words.items()}


def test_a_burst_that_was_offered_keeps_the_offer(spark: SparkSession, tmp_path: Path) -> None:
    offers = {
        "four": Offer(**OFFER, burst=4),
        "three": Offer(**OFFER, burst=3),
        "jitter": Offer(**OFFER, burst=3, jitter="10ms"),
        "less": Offer(**OFFER, burst=3, jitter="9999999ns"),
        "rate": Offer(rate="100/s", burst=4),
        "steady": Offer(**OFFER),
        # Measured under another offer than the facts know.
        "other": Offer(min_sep="20ms", burst=100),
    }
    rows = [
        row for name in (*offers, "silent") for row in sent(name, [0, 10, 20] if name == "steady" else AT_MS)
    ]
    rows += sent("free", min_sep_ns=None)
    expected = {
        "four": True,
        "three": False,
        "jitter": True,
        "less": False,
        "rate": True,
        "steady": True,
        "other": None,
        "silent": None,
        "free": None,
    }
    assert kept(spark, rows, facts(spark, tmp_path, offers)) == expected


def test_the_tolerance_of_the_broker_counts(spark: SparkSession, tmp_path: Path) -> None:
    offers = {"three": Offer(**OFFER, burst=3), "two": Offer(**OFFER, burst=2)}
    said = facts(spark, tmp_path, offers, tolerance_ns=10 * MS)
    assert kept(spark, [*sent("three"), *sent("two")], said) == {"three": True, "two": False}


def test_an_offer_that_was_changed_is_kept_or_broken_only_by_all_that_it_said(
    spark: SparkSession, tmp_path: Path
) -> None:
    before = {"wider": 1, "wide": 4, "narrow": 1}
    after = {"wider": 4, "wide": 9, "narrow": 3}
    times = [{name: Offer(**OFFER, burst=n) for name, n in each.items()} for each in (before, after)]
    rows = [row for name in before for row in sent(name)]
    found = kept(spark, rows, facts(spark, tmp_path, *times))
    assert found == {"wider": None, "wide": True, "narrow": False}


def test_without_facts_only_flows_that_were_never_early_are_known_to_have_kept_theirs(
    spark: SparkSession, tmp_path: Path
) -> None:
    rows = [*sent("bursty"), *sent("steady", [0, 10, 20])]
    expected = {"bursty": None, "steady": True}
    assert kept(spark, rows, None) == expected
    # Facts of earlier versions do not say what was offered.
    clients = [{"client": name, "share": 0.5, "flow_share": 0.5} for name in expected]
    write_facts(tmp_path, {"topics": [{"topic": "ward/3/alarm", "clients": clients}]})
    assert kept(spark, rows, bronze.facts(spark, tmp_path)) == expected


def test_where_records_are_missing_an_offer_may_have_been_broken_by_them(
    spark: SparkSession, tmp_path: Path
) -> None:
    offers = {"four": Offer(**OFFER, burst=4), "three": Offer(**OFFER, burst=3)}
    said = facts(spark, tmp_path, offers)
    rows = [*sent("four"), *sent("three")]
    assert kept(spark, rows, said, "r") == {"four": None, "three": False}
    assert kept(spark, rows, said, "another run") == {"four": True, "three": False}
