"""What is wrong with a query is said in the first line, and if possible where the query is written."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from retaining import Retaining, publish

import giusto
from giusto.errors import InvalidInput
from giusto.pipeline.source.inaline import HIDE, WORKER, in_a_line

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

NOBODY = "giusto://127.0.0.1:1"


class Source:
    """A broker, and the ways to use it from Spark."""

    def __init__(self, spark: SparkSession, broker: Retaining, folder: Path) -> None:
        self.spark, self.broker, self._folder = spark, broker, folder
        self._queries = 0

    def load(self, **options: str) -> DataFrame:
        return self.spark.read.format("giusto").options(**{"url": self.broker.address, **options}).load()

    def stream(self, **options: str) -> DataFrame:
        reader = self.spark.readStream.format("giusto")
        return reader.options(**{"url": self.broker.address, **options}).load()

    def save(self, *columns: str, **options: str) -> None:
        writer = self.spark.range(1).selectExpr(*columns).write.format("giusto").mode("append")
        writer.options(**{"url": self.broker.address, **options}).save()

    def run(self, *columns: str, **options: str) -> None:
        self._queries += 1
        rows = self.stream(topic="ward/#").selectExpr(*columns)
        place = {"url": self.broker.address, "checkpointLocation": str(self._folder / f"{self._queries}")}
        writer = rows.writeStream.format("giusto").options(**{**place, **options})
        writer.trigger(availableNow=True).start().awaitTermination()


@pytest.fixture(scope="module")
def source(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Source]:
    from giusto.pipeline.source import GiustoDataSource

    spark.dataSource.register(GiustoDataSource)
    folder = tmp_path_factory.mktemp("errors")
    with Retaining(folder, patterns="ward/#") as broker:
        publish(broker.address, "ward/1", [b"a", b"b"])
        yield Source(spark, broker, folder / "checkpoints")


def first_line(call: Callable[[], Any]) -> str:
    """Of what the caller is told; nothing of Python's stack is below it."""
    with pytest.raises(Exception, match=r"giusto\.errors\.") as told:
        call()
    text = str(told.value)
    assert "Traceback" not in text
    lines = [line for line in text.splitlines() if line != "An exception was thrown from the Python worker:"]
    return lines[0]


def test_what_cannot_be_read_is_refused_by_load(source: Source) -> None:
    misspelt = first_line(lambda: source.load(topic="ward/#", startPosition="latest"))
    assert "option = startposition: expected an option of the source" in misspelt
    assert "did you mean startingPosition?" in misspelt
    wrong: list[tuple[dict[str, str], str]] = [
        ({}, "Missing: option topic is missing: expected a topic or pattern"),
        ({"topic": "ward/#", "partitions": "x"}, "option partitions = x: expected a whole number"),
        ({"topic": "ward/#", "query": "q"}, "option = query: expected an option of the source"),
        ({"topic": "ward/#", "url": NOBODY}, f"Unreachable: no broker at {NOBODY}"),
        ({"topic": "ward/#", "url": "localhost"}, "address = localhost: expected giusto://host:port"),
        ({"topic": "lab/#"}, "NotRetained: lab/#: not retained: the broker keeps ward/#"),
        ({"records": "true"}, "records: the broker keeps none; start it with --trace"),
    ]
    for options, said in wrong:
        assert said in first_line(lambda options=options: source.load(**options))
    assert "volatile=true reads topics as they are" in first_line(lambda: source.stream(topic="lab/#"))
    away = {"topic": "lab/#", "volatile": "true", "url": NOBODY}
    assert f"no broker at {NOBODY}" in first_line(lambda: source.stream(**away))
    assert source.stream(topic="lab/#", volatile="true").isStreaming


def test_what_cannot_be_written_is_refused_before_a_task_runs(source: Source) -> None:
    text = "'x' as payload"
    wrong: list[tuple[tuple[str, ...], dict[str, str], str]] = [
        ((text,), {"topic": "a/#"}, 'option topic = "a/#": expected a name without wildcards'),
        ((text,), {}, "column topic is missing: expected a column topic, or the option topic"),
        ((text, "'a' as topic"), {"topic": "b"}, "option topic = b: expected none beside a column topic"),
        (("id as payload",), {"topic": "b"}, "column payload = long: expected binary or string"),
        ((text, "'high' as priority"), {"topic": "b"}, "column priority = string: expected a whole number"),
        ((text, "id as topic"), {}, "column topic = long: expected string"),
        ((text,), {"topic": "b", "filter": "x < 3"}, "option = filter: expected an option of the sink"),
        ((text,), {"topic": "b", "url": NOBODY}, f"Unreachable: no broker at {NOBODY}"),
    ]
    for columns, options, said in wrong:
        assert said in first_line(lambda c=columns, o=options: source.save(*c, **o))
    assert "no broker at" in first_line(lambda: source.run("payload", topic="b", url=NOBODY))
    assert "option = topics" in first_line(lambda: source.run("payload", topics="b"))


def test_what_a_task_finds_is_said_in_a_line(source: Source) -> None:
    null = first_line(lambda: source.save("'x' as payload", "cast(null as string) as topic"))
    assert null == "giusto.errors.InvalidInput: column topic = null: expected a value in every row"
    named = "named_struct('a', true) as attributes"
    kind = first_line(lambda: source.save("'x' as payload", named, topic="b"))
    assert 'attributes["a"] = True: expected' in kind


def test_a_refusal_of_the_broker_arrives_as_one(source: Source) -> None:
    with giusto.connect(source.broker.address, name="nurse") as bus:
        bus.subscribe("alarm", giusto.Need(max_latency="1s"))
        said = "giusto.errors.Refused: alarm is under contract, and the sink offers no limit"
        assert said in first_line(lambda: source.save("'x' as payload", "'alarm' as topic"))
        assert said in first_line(lambda: source.run("payload", topic="alarm"))


def test_a_broker_that_keeps_nothing_says_what_to_set(source: Source) -> None:
    command = [sys.executable, "-m", "giusto", "broker", "--listen", "tcp://127.0.0.1:0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as broker:
        assert broker.stdout is not None
        url = broker.stdout.readline().strip().removeprefix("ready ")
        try:
            said = first_line(lambda: source.load(topic="a", url=url))
            assert "the broker keeps no topics; set retain.folder and retain.patterns there" in said
            said = first_line(lambda: source.save("'x' as payload", topic="a", url=url))
            assert "sink: the broker takes no rows; set retain.folder there" in said
        finally:
            broker.kill()


@in_a_line
class Failing:
    """Fails as it is told to."""

    def read(self, error: Exception) -> Iterator[int]:
        yield 1
        raise error


@pytest.mark.parametrize(
    ("error", "worker", "hidden"),
    [
        (InvalidInput("a", 1, "b"), True, True),
        (InvalidInput("a", 1, "b"), False, False),
        (KeyError("nobody foresaw it"), True, False),
    ],
)
def test_only_errors_of_our_own_lose_their_traceback_and_only_in_a_worker(
    error: Exception, worker: bool, hidden: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(HIDE, "")
    if worker:
        monkeypatch.setenv(f"{WORKER}_PORT", "1")
    with pytest.raises(type(error)):
        list(Failing().read(error))
    assert bool(os.environ[HIDE]) is hidden
