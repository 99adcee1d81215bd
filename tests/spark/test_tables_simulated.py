"""What tables say of simulated runs: which policy earned what, and shares that are those allotted."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
import records
from records import seen

from giusto import pipeline
from giusto.pipeline.tables import bronze
from giusto.pipeline.tables.gold import shares
from giusto.pipeline.tables.table import Inputs
from giusto.sim import (
    Broker,
    Constant,
    Link,
    Periodic,
    Processor,
    Publisher,
    Scenario,
    Stream,
    Subscriber,
    Topic,
    run,
    serve,
)
from giusto.trace import layout
from giusto.trace.facts import Allotment, allotted, write_facts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

MS = 1_000_000
WEIGHTS = {"x": 3, "y": 1}
TOPICS = [Topic(name=name, weight=weight, service_ns=10 * MS) for name, weight in WEIGHTS.items()]


def chain(policy: str) -> Scenario:
    """Three brokers, and subscriptions with prices at each of them; half of what is sent is in time."""
    names = ("b1", "b2", "b3")
    return Scenario(
        name=policy,
        until="1s",
        brokers=[Broker(name=name) for name in names],
        links=[
            Link(source=one, target=other, policy=policy, delay=Constant(delay="10ms"))
            for one, other in (("b1", "b2"), ("b2", "b3"))
        ],
        publishers=[Publisher(name="p", broker="b1", topic="t", workload=Periodic(period="5ms"))],
        subscribers=[
            Subscriber(name=f"at {name}", broker=name, pattern="#", deadline="500ms", price=2.0, penalty=1.0)
            for name in names
        ],
    )


def read(folder: Path, name: str) -> list[dict[str, Any]]:
    return pq.read_table(folder / name).to_pylist()


def test_earnings_of_simulated_runs_are_those_of_their_policies(tmp_path: Path) -> None:
    made = {policy: run(chain(policy), seed=1) for policy in ("mtep", "fifo")}
    for each in made.values():
        each.write_trace(tmp_path / "trace")
    pipeline.run(tmp_path / "trace", out=tmp_path / "out")
    rows = read(tmp_path / "out", "earnings")
    assert {(row["run"], row["policy"]) for row in rows} == {("mtep.1", "mtep"), ("fifo.1", "fifo")}
    # One broker is the first and has no link to it, one the last; what expired did so on its way.
    places = {(row["policy"], row["subscriber"], row["node"]) for row in rows}
    assert {("mtep", f"at b{n}", f"b{n}") for n in (1, 2, 3)} <= places
    earned = Counter[str]()
    for row in rows:
        earned[row["policy"]] += row["earning"]
    assert earned == {policy: each.total_earning for policy, each in made.items()}


def saturated(found: list[dict[str, Any]]) -> dict[int, list[dict[str, Any]]]:
    """The windows in which all three flows had work waiting all the time."""
    windows: dict[int, list[dict[str, Any]]] = {}
    for row in found:
        windows.setdefault(row["window_start_ns"], []).append(row)
    return {at: rows for at, rows in windows.items() if len([row for row in rows if row["backlogged"]]) == 3}


def require_allotted(rows: list[dict[str, Any]]) -> None:
    """Each has what it is allotted: of a cycle with 3 cells of x and one of y, which has two publishers."""
    for row in rows:
        cells, quanta = {"x": (3 / 4, 3 / 5), "y": (1 / 4, 2 / 5)}[row["topic"]]
        assert (row["allotted_cells"], row["allotted_topic"]) == (cells, quanta)
        for name in ("topic", "client"):
            assert row[f"{name}_share"] == pytest.approx(row[f"allotted_{name}"], abs=0.01), row
        assert row["share"] == pytest.approx(row["allotted_flow"], abs=0.01), row


def test_an_overloaded_processor_gives_topics_and_clients_what_it_allots_to_them(tmp_path: Path) -> None:
    # Each asks for two of the processor's time until 30 s, and is served until long after that.
    scenario = Scenario(
        until="30s",
        brokers=[Broker(name="b", processor=Processor(policy="twrr"))],
        topics=TOPICS,
        publishers=[
            Publisher(name=name, broker="b", topic=topic, workload=Periodic(period="5ms"))
            for name, topic in (("p", "x"), ("q", "y"), ("r", "y"))
        ],
        subscribers=[Subscriber(name="s", broker="b", pattern="#")],
    )
    run(scenario).write_trace(tmp_path / "trace")
    pipeline.run(tmp_path / "trace", out=tmp_path / "out")
    windows = saturated(read(tmp_path / "out", "shares"))
    assert len(windows) >= 5
    for rows in windows.values():
        require_allotted(rows)
        assert {row["client"]: row["allotted_client"] for row in rows} == {"p": 0.6, "q": 0.2, "r": 0.2}


def test_a_client_of_two_topics_gets_its_part_by_both(spark: SparkSession, tmp_path: Path) -> None:
    flows = (("x", "a"), ("y", "a"), ("y", "b"))
    times_ns = range(0, 30_000 * MS, 5 * MS)
    streams = [Stream(topic=topic, client=client, times_ns=times_ns) for topic, client in flows]
    done = serve("twrr", TOPICS, streams).completions
    rows = [
        seen(one.arrived_ns, ingress=one.arrived_ns, selected=one.selected_ns, sequence=n, topic=one.topic,
             publisher=one.client)
        for n, one in enumerate(done)
    ]  # fmt: skip
    topics = allotted("twrr", [Allotment("x", 3, ("a",)), Allotment("y", 1, ("a", "b"))])
    (tmp_path / layout.FACTS).mkdir()
    write_facts(tmp_path, {"run": "r", "node": "hub", "at_ns": 0, "topics": topics}, 1)
    frame = records.frame(spark, rows)
    found = shares.TABLE.of(Inputs(frame, frame, bronze.facts(spark, tmp_path)))
    windows = saturated(records.plain(found))
    assert len(windows) >= 5
    for each in windows.values():
        require_allotted(each)
        assert {row["client"]: row["allotted_client"] for row in each} == {"a": 4 / 5, "b": 1 / 5}
