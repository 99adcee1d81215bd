"""Contracts between real processes: granted, refused, claimed, and kept over the end of a broker."""

from __future__ import annotations

import asyncio
import signal
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from raw import BrokerProcess
from watch import eventually

import giusto
from giusto import Granted, Need, Offer, Refused, Unproved

ALARM = Offer(min_sep="10ms", max_size=256)


@pytest.fixture
def own_broker() -> Iterator[BrokerProcess]:
    """A broker that nobody else has contracts with."""
    with BrokerProcess() as process:
        yield process


def refused(call: Any, *arguments: Any) -> Refused:
    with pytest.raises(Refused) as found:
        call(*arguments)
    return found.value


def test_the_example_of_s3_between_processes(own_broker: BrokerProcess) -> None:
    with (
        giusto.connect(own_broker.address, name="publisher") as bus,
        giusto.connect(own_broker.address, name="subscriber") as other,
    ):
        publisher = bus.advertise("alarm", Offer(min_sep="15ms", max_sep="15ms", max_size=256))
        a = other.subscribe("alarm", Need(max_sep="20ms", max_latency="100ms"))
        assert isinstance(a.verdict, Granted)
        b = refused(other.subscribe, "alarm", Need(max_sep="14ms", max_latency="100ms"))
        c = refused(other.subscribe, "alarm", Need(max_sep="20ms", max_latency="1us"))
        assert (b.why, c.why) == ("max_sep", "latency")
        publisher.publish(b"x")
        assert a.receive("60s").payload == b"x"


def test_the_nearest_that_a_refusal_names_is_granted(own_broker: BrokerProcess) -> None:
    with giusto.connect(own_broker.address) as bus:
        bus.advertise("alarm", ALARM)
        error = refused(bus.subscribe, "alarm", Need(max_latency="1us"))
        assert error.nearest is not None
        assert error.nearest.max_latency_ns is not None
        verdict = bus.subscribe("alarm", Need(max_latency=f"{error.nearest.max_latency_ns}ns")).verdict
        assert isinstance(verdict, Granted)
        assert verdict.bound_ns == error.nearest.max_latency_ns
        assert str(bus.explain("alarm")).startswith("alarm: twrr, 1 receive it")


def test_nobody_publishes_without_a_limit_where_a_latency_is_promised(own_broker: BrokerProcess) -> None:
    with giusto.connect(own_broker.address) as bus, giusto.connect(own_broker.address) as flood:
        bus.subscribe("alarm", Need(max_latency="100ms"))
        assert refused(flood.advertise, "alarm").why == "no_limit"
        publisher = flood.advertise("log")
        assert bus.subscribe("log").verdict == Unproved("no latency was asked for")
        publisher.publish(b"x")


def test_the_same_answers_for_asyncio(own_broker: BrokerProcess) -> None:
    async def program() -> None:
        async with giusto.aio.connect(own_broker.address) as bus:
            await bus.advertise("alarm", ALARM)
            with pytest.raises(Refused) as found:
                await bus.subscribe("alarm", Need(max_latency="1us"))
            nearest = found.value.nearest
            assert found.value.why == "latency"
            assert nearest is not None
            subscription = await bus.subscribe("alarm", Need(max_latency=f"{nearest.max_latency_ns}ns"))
            assert isinstance(subscription.verdict, Granted)
            explanation = await bus.explain("alarm")
            assert explanation.flows[0].bound_ns == subscription.verdict.bound_ns

    asyncio.run(program())


def test_of_two_that_fit_only_alone_one_is_granted(own_broker: BrokerProcess) -> None:
    with giusto.connect(own_broker.address, name="watch") as watch:
        with giusto.connect(own_broker.address, name="first") as probe:
            probe.advertise("alarm", ALARM)
            error = refused(watch.subscribe, "alarm", Need(max_latency="1us"))
        assert error.nearest is not None
        watch.subscribe("alarm", Need(max_latency=f"{error.nearest.max_latency_ns}ns"))
        outcomes: list[str] = []
        racers = [
            threading.Thread(target=race, args=(own_broker.address, name, outcomes))
            for name in ("one", "two", "three", "four")
        ]
        for racer in racers:
            racer.start()
        for racer in racers:
            racer.join()
    assert sorted(outcomes) == ["granted", "others", "others", "others"]


def race(address: str, name: str, outcomes: list[str]) -> None:
    """Ask for the only place on the topic, and stay until all have an answer."""
    with giusto.connect(address, name=name) as bus:
        try:
            bus.advertise("alarm", ALARM)
            outcomes.append("granted")
        except Refused as error:
            outcomes.append(error.why)
        while len(outcomes) < 4:
            bus.status()


# --- what outlives a broker


def free_address() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"tcp://127.0.0.1:{probe.getsockname()[1]}"


def contracts_of(bus: giusto.Bus) -> tuple[Any, Any]:
    verdict = bus.subscribe("ward/+/alarm", Need(max_latency="50ms")).verdict
    return verdict, bus.explain("ward/3/alarm").promises


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_contracts_and_verdicts_survive_the_end_of_a_broker(tmp_path: Path, end: signal.Signals) -> None:
    flags = {"listen": [free_address()], "guarantee.store": str(tmp_path / "contracts.db")}
    with BrokerProcess(**flags) as broker:
        monitor = giusto.connect(broker.address, name="monitor", reconnect=False)
        nurse = giusto.connect(broker.address, name="nurse", reconnect=False)
        monitor.advertise("ward/3/alarm", ALARM)
        verdict, _ = contracts_of(nurse)
        bound_ns = verdict.bound_ns
        broker.signal(end)
        broker.wait()
    with BrokerProcess(**flags) as broker:
        with giusto.connect(broker.address, name="other") as other:
            explanation = other.explain("ward/3/alarm")
            assert [flow.publisher for flow in explanation.flows] == ["monitor"]
            assert [(one.subscriber, one.away) for one in explanation.promises] == [("nurse", True)]
            assert refused(other.advertise, "ward/3/alarm").why == "no_limit"
        with (
            giusto.connect(broker.address, name="nurse") as nurse,
            giusto.connect(broker.address, name="monitor") as monitor,
        ):
            again, promises = contracts_of(nurse)
            assert again == verdict
            assert again.bound_ns == bound_ns
            assert [(one.subscriber, one.away) for one in promises] == [("nurse", False)]
            publisher = monitor.advertise("ward/3/alarm", ALARM)
            subscription = nurse.subscribe("ward/3/alarm")
            publisher.publish(b"x")
            assert subscription.receive("60s").payload == b"x"


def test_a_client_finds_its_contracts_again_by_itself(tmp_path: Path) -> None:
    flags = {"listen": [free_address()], "guarantee.store": str(tmp_path / "contracts.db")}
    with BrokerProcess(**flags) as broker:
        bus = giusto.connect(broker.address, name="nurse", timeout="60s")
        bus.advertise("alarm", ALARM)
        subscription = bus.subscribe("alarm", Need(max_latency="50ms"))
        verdict = subscription.verdict
        broker.signal(signal.SIGKILL)
        broker.wait()
    with BrokerProcess(**flags):
        for event in bus.events:
            if isinstance(event, giusto.Restored):
                break
        assert event.failed == ()
        assert (subscription.verdict, len(bus.explain("alarm").promises)) == (verdict, 1)
        bus.close()


def test_a_damaged_store_is_put_aside_and_the_broker_says_so(tmp_path: Path) -> None:
    path = tmp_path / "contracts.db"
    path.write_bytes(b"no database at all" * 1000)
    with BrokerProcess(**{"guarantee.store": str(path)}) as broker:
        with giusto.connect(broker.address) as bus:
            bus.advertise("alarm", ALARM)
            assert isinstance(bus.subscribe("alarm", Need(max_latency="50ms")).verdict, Granted)
        broker.signal(signal.SIGTERM)
        _, said = broker.process.communicate(timeout=60)
    assert f"{path} was damaged" in said
    assert (tmp_path / "contracts.db.damaged-1").exists()


def test_a_broker_says_what_its_promises_rest_on() -> None:
    with BrokerProcess() as broker:
        broker.signal(signal.SIGTERM)
        _, said = broker.process.communicate(timeout=60)
    assert "promises rest on default costs" in said


def test_a_broker_says_where_contracts_are_kept_and_how_many_it_found(tmp_path: Path) -> None:
    path = tmp_path / "contracts.db"
    said = []
    for _ in range(2):
        with BrokerProcess(**{"guarantee.store": str(path), "guarantee.reserve": "30s"}) as broker:
            bus = giusto.connect(broker.address, name="bed", reconnect=False)
            bus.advertise("alarm", ALARM)
            bus.subscribe("alarm", Need(max_latency="50ms"))
            broker.process.kill()
            said.append(broker.process.communicate(timeout=60)[1])
            bus.close()
    assert f"contracts kept in {path}: new, empty" in said[0]
    assert f"contracts kept in {path}: 2 restored, waiting 30 s for their clients" in said[1]


def test_a_calibration_that_is_none_ends_the_broker_before_it_serves(tmp_path: Path) -> None:
    with BrokerProcess(**{"guarantee.calibration": str(tmp_path / "missing.json")}) as broker:
        assert (broker.wait(), broker.ready) == (1, "")
        assert broker.process.stderr is not None
        assert "missing.json" in broker.process.stderr.read()


def test_a_publisher_gets_no_second_burst_by_offering_anew_or_connecting_again(
    own_broker: BrokerProcess,
) -> None:
    sent = 0
    with giusto.connect(own_broker.address, name="watcher") as watcher:
        watcher.subscribe("alarm", Need(max_latency="100ms"))
        for _ in range(5):
            with giusto.connect(own_broker.address, name="publisher") as bus:
                for burst in (20, 21):
                    publisher = bus.advertise("alarm", Offer(min_sep="1h", burst=burst, max_size=100))
                    for _ in range(20):
                        publisher.publish(b"x")
                    sent += 20
                    bus.flush()
                    publisher.unadvertise()

        def counted() -> tuple[int, int]:
            (topic,) = (each for each in watcher.status().topics if each.topic == "alarm")
            return topic.counters["ingested"], topic.counters["policed"]

        eventually(lambda: sum(counted()) == sent, "every message to be counted")
        assert counted() == (21, sent - 21)
