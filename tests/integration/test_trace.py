"""A broker in a process of its own that traces: what is in its folder when it stops, is killed, or guards."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from raw import WATCHDOG_S, BrokerProcess
from watch import eventually

import giusto
from giusto import Need, record
from giusto.broker import Broker
from giusto.config import BrokerConfig, Trace
from giusto.errors import GiustoError
from giusto.retain.requests import Done, encode
from giusto.steward import Steward
from giusto.trace.manifest import lines

COUNT = 2_000


def exchange(address: str, count: int = COUNT) -> None:
    """Messages from one client to another, all of them received."""
    with giusto.connect(address, name="nurse") as nurse, giusto.connect(address, name="monitor") as monitor:
        subscription = nurse.subscribe("ward/#")
        publisher = monitor.advertise("ward/3")
        for number in range(count):
            publisher.publish(number.to_bytes(4, "big"))
            if number % 100 == 99:
                for _ in range(100):
                    subscription.receive(timeout=f"{WATCHDOG_S}s")


def said(folder: Path) -> list[dict[str, object]]:
    return [line for path in sorted((folder / "manifest").iterdir()) for line in lines(path)]


def test_a_broker_that_stops_has_written_every_delivery(tmp_path: Path) -> None:
    with BrokerProcess(**{"trace.folder": str(tmp_path), "trace.file_rows": 700}) as broker:
        exchange(broker.address)
        broker.signal(signal.SIGTERM)
        assert broker.wait() == 0
    table = record.read(tmp_path)
    assert table["sequence"].to_pylist() == list(range(COUNT))
    assert set(table["publisher"].to_pylist()) == {"monitor"}
    assert set(table["subscriber"].to_pylist()) == {"nurse"}
    assert None not in table["t_egress_ns"].to_pylist()
    lines = said(tmp_path)
    assert sum(line["rows"] for line in lines if line["event"] == "file") == COUNT
    assert Counter(line["event"] for line in lines)["ended"] == 1


def test_a_broker_that_is_killed_leaves_whole_files_and_the_next_one_tidies_up(tmp_path: Path) -> None:
    options = {"trace.folder": str(tmp_path), "trace.file_rows": 100, "trace.every": "1ms"}
    with BrokerProcess(**options) as broker:
        exchange(broker.address, 1_000)
        broker.signal(signal.SIGKILL)
        broker.wait()
    rows = [pq.read_metadata(file).num_rows for file in record.files(tmp_path)]
    table = record.read(tmp_path)
    assert table.num_rows == sum(rows)
    assert table["sequence"].to_pylist() == list(range(sum(rows)))
    left = tmp_path / "records" / f".{record.files(tmp_path)[0].name}.tmp" if rows else None
    if left is not None:
        left.write_bytes(b"begun")
    with BrokerProcess(**options) as broker:
        assert list((tmp_path / "records").glob(".*")) == []
        broker.signal(signal.SIGTERM)
        assert broker.wait() == 0
    assert record.read(tmp_path).num_rows == sum(rows)


def test_facts_say_what_topics_and_clients_are_allotted(tmp_path: Path) -> None:
    # A cycle has 3 cells of x with one quantum and 1 cell of y with two.
    expected = {("x", "a"): 4 / 5, ("y", "a"): 4 / 5, ("y", "b"): 1 / 5}
    with BrokerProcess(**{"trace.folder": str(tmp_path)}) as broker:
        with (
            giusto.connect(broker.address, name="a") as first,
            giusto.connect(broker.address, name="b") as second,
        ):
            for bus, topic in ((first, "x"), (first, "y"), (second, "y")):
                bus.advertise(topic)
            first.allot("x", weight=3)
            eventually(lambda: clients(tmp_path) == expected, "the facts")
        found = newest(tmp_path)
    shares = {
        fact["topic"]: (fact["weight"], fact["share"], fact["quanta_share"]) for fact in found["topics"]
    }
    assert shares == {"x": (3, 0.75, 3 / 5), "y": (1, 0.25, 2 / 5)}
    assert (found["input"], found["output"], found["fragment_bytes"]) == ("twrr", "fifo", 65_536)
    # θ is of a client's flows together; each of them has its own part.
    flows = {
        (fact["topic"], one["client"]): one["flow_share"]
        for fact in found["topics"]
        for one in fact["clients"]
    }
    assert flows == {("x", "a"): 3 / 5, ("y", "a"): 1 / 5, ("y", "b"): 1 / 5}


def test_facts_say_which_bound_was_proved_for_a_topic_under_contract(tmp_path: Path) -> None:
    with (
        BrokerProcess(**{"trace.folder": str(tmp_path)}) as broker,
        giusto.connect(broker.address, name="a") as bus,
    ):
        bus.advertise("alarm", giusto.Offer(min_sep="100ms", max_size=100))
        bus.advertise("rest", giusto.Offer(min_sep="1s", max_size=100))
        verdict = bus.subscribe("alarm", giusto.Need(max_latency="1s")).verdict
        expected = {"alarm": verdict.bound_ns, "rest": None}
        assert 0 < verdict.bound_ns < verdict.promise_ns
        eventually(lambda: bounds_ns(tmp_path) == expected, "the facts")


def test_facts_say_what_each_client_offers(tmp_path: Path) -> None:
    expected = {"steady": (10_000_000, 1, 0), "bursty": (1_000_000, 4, 2_000_000), "free": (None, None, None)}
    with (
        BrokerProcess(**{"trace.folder": str(tmp_path), "guarantee.tolerance": "7ms"}) as broker,
        giusto.connect(broker.address, name="a") as bus,
    ):
        bus.advertise("steady", giusto.Offer(min_sep="10ms"))
        publisher = bus.advertise("bursty", giusto.Offer(rate="5/s", burst=9))
        bus.advertise("free")
        eventually(lambda: offers(tmp_path).get("bursty") == (200_000_000, 9, 0), "the facts")
        publisher.unadvertise()
        bus.advertise("bursty", giusto.Offer(rate="1000/s", burst=4, jitter="2ms"))
        eventually(lambda: offers(tmp_path) == expected, "the facts of another offer")
        assert newest(tmp_path)["tolerance_ns"] == 7_000_000


def test_a_broker_that_samples_traces_one_message_in_so_many_and_counts_the_rest(tmp_path: Path) -> None:
    every = 5
    with BrokerProcess(**{"trace.folder": str(tmp_path), "trace.sampling": every}) as broker:
        exchange(broker.address)
        broker.signal(signal.SIGTERM)
        assert broker.wait() == 0
    kept = record.read(tmp_path)["sequence"].to_pylist()
    assert kept == sampled("monitor", COUNT, every), "chosen by a hash of the name and the number"
    assert COUNT / every / 1.2 < len(kept) < 1.2 * COUNT / every
    left_out = [line for line in said(tmp_path) if line["event"] == "dropped"]
    assert {line["reason"] for line in left_out} == {"sampling"}
    assert sum(line["rows"] for line in left_out) == COUNT - len(kept)
    metadata = pq.read_metadata(record.files(tmp_path)[0]).metadata
    assert json.loads(metadata[b"giusto.trace"])["sampling"] == every


def sampled(publisher: str, count: int, one_of: int) -> list[int]:
    """The numbers of the messages that are sampled: FNV-1a of the name, mixed as SplitMix64 does."""
    mask = 2**64 - 1
    name = 0xCBF29CE484222325
    for byte in publisher.encode():
        name = (name ^ byte) * 0x100000001B3 & mask

    def mixed(value: int) -> int:
        value = (value + 0x9E3779B97F4A7C15) & mask
        value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 & mask
        value = (value ^ value >> 27) * 0x94D049BB133111EB & mask
        return value ^ value >> 31

    return [number for number in range(count) if mixed(name ^ mixed(number)) <= mask // one_of]


def test_a_client_that_traces_has_a_record_of_each_message_and_subscription(tmp_path: Path) -> None:
    with BrokerProcess(**{"trace.folder": str(tmp_path)}) as broker:
        with (
            giusto.connect(broker.address, name="nurse", trace=tmp_path) as nurse,
            giusto.connect(broker.address, name="monitor") as monitor,
        ):
            first = nurse.subscribe("ward/#")
            second = nurse.subscribe("ward/3", Need(deadline="10s", price=2, penalty=1))
            publisher = monitor.advertise("ward/3")
            for number in range(50):
                publisher.publish(number.to_bytes(4, "big"))
            for subscription in (first, second):
                for _ in range(50):
                    subscription.receive(timeout=f"{WATCHDOG_S}s")
            numbers = {first.number, second.number}
        broker.signal(signal.SIGTERM)
        assert broker.wait() == 0
    rows = record.read(tmp_path).to_pylist()
    at_client = [row for row in rows if row["hop"] == 1]
    at_broker = {(row["subscription"], row["sequence"]): row for row in rows if row["hop"] == 0}
    assert len(at_client) == len(at_broker) == 100
    assert {row["subscription"] for row in at_client} == numbers
    for row in at_client:
        seen = at_broker[row["subscription"], row["sequence"]]
        same = (
            "run",
            "topic",
            "publisher",
            "subscriber",
            "t_sent_ns",
            "deadline_ns",
            "price",
            "outcome",
            "size_bytes",
        )
        assert {name: row[name] for name in same} == {name: seen[name] for name in same}
        assert row["node"] == "nurse"
        assert row["t_received_ns"] == row["t_ingress_ns"] >= seen["t_egress_ns"]
        assert row["t_egress_ns"] is row["t_selected_ns"] is None
    ended = [path.name for path in (tmp_path / "manifest").iterdir()]
    assert len(ended) == 2


def test_a_client_that_comes_back_to_another_run_of_the_broker_records_that_run(tmp_path: Path) -> None:
    with BrokerProcess() as broker:
        port = int(broker.address.rpartition(":")[2])
        with (
            giusto.connect(broker.address, name="nurse", trace=tmp_path) as nurse,
            giusto.connect(broker.address, name="monitor") as monitor,
        ):
            subscription, publisher = nurse.subscribe("a"), monitor.advertise("a")
            runs = [nurse.run]
            publisher.publish(b"1")
            subscription.receive(timeout=f"{WATCHDOG_S}s")
            broker.signal(signal.SIGKILL)
            broker.wait()
            with BrokerProcess(listen=[f"tcp://127.0.0.1:{port}"]):
                eventually(lambda: publisher_is_back(publisher, subscription), "both clients to be back")
                runs.append(nurse.run)
    assert runs[0] != runs[1]
    table = record.read(tmp_path, ["run", "subscriber"]).to_pydict()
    assert list(dict.fromkeys(table["run"])) == runs
    assert set(table["subscriber"]) == {"nurse"}


def publisher_is_back(publisher: giusto.Publisher, subscription: giusto.Subscription) -> bool:
    """Whether a message gets through."""
    try:
        publisher.publish(b"2")
        subscription.receive(timeout="100ms")
    except (GiustoError, OSError):
        return False
    return True


def test_a_client_with_an_event_loop_traces_too(tmp_path: Path) -> None:
    async def listen(address: str) -> None:
        async with (
            giusto.aio.connect(address, name="nurse", trace=tmp_path) as nurse,
            giusto.aio.connect(address, name="monitor") as monitor,
        ):
            subscription, publisher = await nurse.subscribe("a"), await monitor.advertise("a")
            for _ in range(20):
                await publisher.publish(b"x")
                await subscription.receive(timeout=f"{WATCHDOG_S}s")

    with BrokerProcess() as broker:
        asyncio.run(listen(broker.address))
    assert record.read(tmp_path, ["sequence"])["sequence"].to_pylist() == list(range(20))


def test_a_bus_that_was_never_closed_has_written_its_records_when_the_program_ends(tmp_path: Path) -> None:
    program = f"""
import giusto
bus = giusto.connect({{address!r}}, trace={str(tmp_path)!r})
subscription, publisher = bus.subscribe("a"), bus.advertise("a")
publisher.publish(b"x")
subscription.receive(timeout="{WATCHDOG_S}s")
"""
    with BrokerProcess() as broker:
        subprocess.run([sys.executable, "-c", program.format(address=broker.address)], check=True)
    assert record.read(tmp_path).num_rows == 1


def test_a_client_that_comes_back_under_its_name_writes_beside_what_it_wrote(tmp_path: Path) -> None:
    with BrokerProcess() as broker:
        for _ in range(2):
            with giusto.connect(broker.address, name="nurse", trace=tmp_path) as nurse:
                subscription, publisher = nurse.subscribe("a"), nurse.advertise("a")
                publisher.publish(b"x")
                subscription.receive(timeout=f"{WATCHDOG_S}s")
    assert record.read(tmp_path).num_rows == 2
    assert [line["rows"] for line in said(tmp_path) if line["event"] == "file"] == [1, 1]


def test_reading_records_through_the_bus_makes_none(tmp_path: Path) -> None:
    config = BrokerConfig(listen=("tcp://127.0.0.1:0",), trace=Trace(folder=str(tmp_path)))
    with Broker(config) as broker, Steward(broker):
        with giusto.connect(broker.address, name="reader") as reader:
            for _ in range(3):
                reader.request("$giusto/records/list", encode(Done()), timeout=f"{WATCHDOG_S}s")
        exchange(broker.address, 100)
    assert set(record.read(tmp_path)["topic"].to_pylist()) == {"ward/3"}


def newest(folder: Path) -> dict[str, Any]:
    """The last facts of a folder."""
    paths = sorted((folder / "facts").glob("*.json"))
    return json.loads(paths[-1].read_text()) if paths else {"topics": []}


def bounds_ns(folder: Path) -> dict[str, int | None]:
    """The bounds of topics, by the last facts."""
    return {topic["topic"]: topic["bound_ns"] for topic in newest(folder)["topics"]}


def offers(folder: Path) -> dict[str, tuple[int | None, ...]]:
    """What is offered on topics of one publisher each, by the last facts."""
    keys = ("min_sep_ns", "burst", "jitter_ns")
    return {
        topic["topic"]: tuple(topic["clients"][0].get(key) for key in keys)
        for topic in newest(folder)["topics"]
    }


def clients(folder: Path) -> dict[tuple[str, str], float]:
    """What clients are allotted by the last facts, by topic and name."""
    topics = newest(folder)["topics"]
    return {(topic["topic"], one["client"]): one["share"] for topic in topics for one in topic["clients"]}
