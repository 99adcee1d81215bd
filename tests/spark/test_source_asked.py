"""What a broker is asked for by Spark: no more than a query needs, and nothing that came too late for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from retaining import WATCHDOG_S, Retaining, log_of, publish
from topics import numbers, payloads, read, stream

import giusto
from giusto.retain import requests
from giusto.retain.requests import Fetch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

PUSHDOWN = "spark.sql.python.filterPushdown.enabled"
FETCH = requests.LOG + "fetch"


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Retaining]:
    """One broker for the tests of this module; every test has a log of its own."""
    with Retaining(tmp_path_factory.mktemp("retained"), patterns="lab/#,meanwhile") as process:
        yield process


def asked(broker: Retaining, topic: str, look: Callable[[], object]) -> list[Fetch]:
    """What the log of a topic was asked for while somebody looked: questions are messages, too."""
    with giusto.connect(broker.address) as bus:
        questions = bus.subscribe(FETCH, queue=1_000)
        look()
        # All questions have been answered; this one is the last.
        last = Fetch(log_of(bus, topic).id, 0, 0, query="last")
        bus.request(FETCH, requests.encode(last), timeout=f"{WATCHDOG_S}s")
        found = []
        while (one := requests.decode(questions.receive(timeout=f"{WATCHDOG_S}s").payload, Fetch)) != last:
            found.append(one)
    return found


def test_conditions_on_positions_and_topics_are_answered_where_the_log_is(
    giusto_spark: SparkSession, broker: Retaining
) -> None:
    publish(broker.address, "lab/1", numbers(0, 50))
    publish(broker.address, "lab/2", numbers(50, 60))
    wanted = "position >= 20 and position < 55 and topic = 'lab/2' and payload != binary('52')"
    found: dict[str, list[bytes]] = {}

    def look(**options: str) -> None:
        rows = read(giusto_spark, broker, "lab/#", partitions=1, **options).where(wanted)
        found["pushed" if options else "plain"] = sorted(payloads(rows))

    giusto_spark.conf.set(PUSHDOWN, "true")
    try:
        pushed = asked(broker, "lab/#", lambda: look(pushFilters="true"))
    finally:
        giusto_spark.conf.unset(PUSHDOWN)
    plain = asked(broker, "lab/#", look)
    assert found["pushed"] == found["plain"] == [b"50", b"51", b"53", b"54"]
    assert [(one.start, one.end, one.pattern) for one in plain] == [(0, 60, "lab/#")]
    assert [(one.start, one.end, one.pattern) for one in pushed] == [(20, 55, "lab/2")]


def test_available_now_leaves_what_comes_while_it_runs_to_the_next_run(
    giusto_spark: SparkSession, broker: Retaining, tmp_path: Path
) -> None:
    publish(broker.address, "meanwhile", numbers(0, 300))
    rows = stream(giusto_spark, broker, "meanwhile", maxRowsPerTrigger=100)
    batches: list[list[bytes]] = []

    def keep(batch: DataFrame, number: int) -> None:
        batches.append(payloads(batch))
        if number == 0:
            publish(broker.address, "meanwhile", numbers(300, 350))

    writer = rows.writeStream.foreachBatch(keep).option("checkpointLocation", str(tmp_path))

    def run() -> list[bytes]:
        batches.clear()
        writer.trigger(availableNow=True).start().awaitTermination()
        return sorted((payload for batch in batches for payload in batch), key=int)

    assert run() == numbers(0, 300)
    assert [len(batch) for batch in batches] == [100, 100, 100], "it went on after more had come"
    assert run() == numbers(300, 350)
    assert run() == []
