"""Whether a normal distribution fits the delays of a link, and what its most recent window says."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import pytest
import records
from records import seen

from giusto.pipeline import models
from giusto.pipeline.tables.gold import link_model
from giusto.pipeline.tables.table import WINDOW_NS, Inputs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

US = 1_000
SAMPLE = 400


def crossing(target: str, window: int, delays_ns: Iterable[float]) -> list[dict[str, Any]]:
    """Messages of one KB each that cross a link in a window, and how long each of them takes."""
    rows = []
    for n, delay_ns in enumerate(delays_ns):
        at = window * WINDOW_NS + n
        given = {"subscriber": None, "node": f"hub->{target}", "size_bytes": 1_024, "sequence": n}
        rows.append(
            seen(at, ingress=at, selected=at, egress=at, received=at + round(delay_ns), **given),
        )
    return rows


def links(spark: SparkSession, rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The table, by target."""
    hops = records.frame(spark, rows)
    found = records.plain(link_model.TABLE.of(Inputs(hops.filter("subscriber is not null"), hops)))
    return {row["target"]: row for row in found}


def test_a_normal_sample_is_called_normal_and_an_exponential_one_is_not(spark: SparkSession) -> None:
    chance = random.Random(6)
    normal = [chance.gauss(1_000 * US, 50 * US) for _ in range(SAMPLE)]
    wild = [chance.expovariate(1 / (1_000 * US)) for _ in range(SAMPLE)]
    # Two of the same kind that are too few, and just enough, to say.
    few, enough = (wild[:size] for size in (link_model.ENOUGH - 1, link_model.ENOUGH))
    samples = {"normal": normal, "wild": wild, "few": few, "enough": enough}
    rows = [row for name, delays in samples.items() for row in crossing(name, 1, delays)]
    found = links(spark, rows)
    assert {name: row["normal"] for name, row in found.items()} == {
        "normal": True,
        "wild": False,
        "few": None,
        "enough": False,
    }
    assert found["normal"]["normal_p"] > 0.05
    assert found["wild"]["normal_p"] < 1e-6
    # All of it is in one window.
    assert {name: row["recent_normal"] for name, row in found.items()} == {
        "normal": True,
        "wild": False,
        "few": None,
        "enough": False,
    }


def test_the_recent_columns_are_those_of_the_last_window_with_enough_messages(spark: SparkSession) -> None:
    slow = [100 * US] * 20 + [9_000 * US] * 20
    # 1 and 3 µs in turn: no skewness and an excess kurtosis of -2, which 30 of a normal distribution have in
    # exp(-30/12) = 8 % of cases, and 60 in exp(-60/12) = 0.7 %.
    turns = [(1 + 2 * (n % 2)) * US for n in range(60)]
    rows = [
        *(crossing("leaf", 2, slow) + crossing("leaf", 3, turns[:30]) + crossing("leaf", 4, turns[:29])),
        *(crossing("long", 2, turns[:30]) + crossing("long", 3, turns)),
        *(crossing("seldom", 2, turns[:20]) + crossing("seldom", 3, turns[:20])),
    ]
    found = links(spark, rows)
    leaf = found["leaf"]
    assert (leaf["count"], leaf["recent_count"], leaf["recent_start_ns"]) == (99, 30, 3 * WINDOW_NS)
    assert leaf["recent_mean_ns_per_kb"] == pytest.approx(2 * US)
    assert leaf["recent_variance"] == pytest.approx(30 / 29 * US**2)
    assert (leaf["normal"], leaf["recent_normal"]) == (False, True)
    assert found["long"]["recent_normal"] is False
    seldom = found["seldom"]
    assert seldom["normal_p"] == pytest.approx(math.exp(-40 / 12))
    recent = {name: value for name, value in seldom.items() if name.startswith("recent_")}
    assert len(recent) == 5
    assert (seldom["normal"], set(recent.values())) == (True, {None})

    # What is published is of one and the same window; of the whole run, where no window says enough.
    made = {model.target: model for model in models.links(found.values())}
    assert (made["leaf"].count, made["leaf"].normal) == (30, True)
    assert made["leaf"].mean_ns_per_kb == pytest.approx(2 * US)
    assert (made["seldom"].count, made["seldom"].normal) == (40, True)
