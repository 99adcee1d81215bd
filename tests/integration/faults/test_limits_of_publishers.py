"""A publisher that sends more than it may: the surplus is counted and told, and hurts nobody."""

from __future__ import annotations

import socket
import time
from collections import Counter
from collections.abc import Iterator
from random import Random

import pytest
from bystanders import Bystanders
from raw import WATCHDOG_S, BrokerProcess, RawClient, require_alive
from watch import eventually

import giusto
from giusto import _core
from giusto.errors import QueueFull
from giusto.protocol import (
    Advertise,
    Advertised,
    Dropped,
    OfferTerms,
    Status,
    StatusIs,
    Subscribe,
    Subscribed,
    decode_reply,
)

# Time-driven with long periods: what comes in one period waits for the next.
SLOW_PERIODS = {"mode": "time", "period": "100ms", "budget": "10ms"}


def frames(flow: int, payloads: list[bytes], **header: int) -> bytes:
    return b"".join(
        _core.encode_data(payload, stream=flow, sequence=number, **{"t_sent_ns": 0, **header})
        for number, payload in enumerate(payloads)
    )


def losses_until(client: RawClient, count: int) -> Counter[tuple[str, str]]:
    """What a publisher is told of its own lost messages, until so many are lost."""
    lost: Counter[tuple[str, str]] = Counter()
    while lost.total() < count:
        told = client.until(Dropped)
        assert told.flow is not None
        lost[told.topic, told.reason] += told.count
    return lost


def counters(client: RawClient, topic: str) -> dict[str, int]:
    status = client.ask(StatusIs, Status(id=99))
    return next(each.counters for each in status.topics if each.topic == topic)


def test_messages_beyond_the_credit_are_dropped_and_told(
    broker: BrokerProcess, bystanders: Bystanders
) -> None:
    count = 20_000
    with RawClient(broker.address, "flooder") as flooder, RawClient(broker.address, "meter") as meter:
        flow = flooder.ask(Advertised, Advertise(id=1, topic="flood", offer=OfferTerms(queue=4)))
        assert flow.credit == 4
        flooder.socket.sendall(frames(flow.flow, [b"x" * 50] * count))
        bystanders.go_on(20)
        eventually(
            lambda: counters(meter, "flood")["ingested"] + counters(meter, "flood")["overflow"] == count,
            "every message to be counted",
        )
        overflow = counters(meter, "flood")["overflow"]
        assert overflow > 0
        assert losses_until(flooder, overflow) == {("flood", "overflow"): overflow}


def test_credits_come_back_for_every_message(broker: BrokerProcess, bystanders: Bystanders) -> None:
    count, queue = 5_000, 16
    with RawClient(broker.address) as publisher:
        flow = publisher.ask(Advertised, Advertise(id=1, topic="fair", offer=OfferTerms(queue=queue)))
        credit, sent = flow.credit, 0
        while sent < count:
            portion = min(credit, count - sent)
            publisher.publish(flow.flow, *[b"x"] * portion)
            sent, credit = sent + portion, credit - portion
            while credit == 0 and sent < count:
                frame = publisher.frame()
                if isinstance(frame, _core.Credit):
                    assert frame.stream == flow.flow
                    credit += frame.amount
        assert counters(publisher, "fair")["overflow"] == 0


def test_policed_messages_give_their_credit_back(broker: BrokerProcess, bystanders: Bystanders) -> None:
    with RawClient(broker.address) as hasty:
        offer = OfferTerms(min_sep_ns=3_600_000_000_000, queue=8)
        flow = hasty.ask(Advertised, Advertise(id=1, topic="hasty", offer=offer))
        hasty.publish(flow.flow, *[b"x"] * 8)
        back = 0
        while back < 8:
            frame = hasty.frame()
            back += frame.amount if isinstance(frame, _core.Credit) else 0
        assert losses_until(hasty, 7) == {("hasty", "policed"): 7}


def test_messages_larger_than_offered_are_dropped_and_told(
    broker: BrokerProcess, bystanders: Bystanders
) -> None:
    with RawClient(broker.address) as publisher:
        offer = OfferTerms(max_size_bytes=100)
        flow = publisher.ask(Advertised, Advertise(id=1, topic="small", offer=offer)).flow
        publisher.publish(flow, bytes(100), bytes(101), bytes(100_000), bytes(100))
        assert losses_until(publisher, 2) == {("small", "overflow"): 2}
        assert counters(publisher, "small")["ingested"] == 2


def publish_for_ever(publisher: giusto.Publisher) -> None:
    """Until there is no credit; it may come back between two messages."""
    while True:
        publisher.publish(b"full", timeout=0)


def test_a_topic_without_credit_does_not_hold_up_another_one() -> None:
    with (
        BrokerProcess(**SLOW_PERIODS) as broker,
        giusto.connect(broker.address, timeout=WATCHDOG_S) as bus,
        bus.subscribe("#") as inbox,
        bus.advertise("full", giusto.Offer(queue=2)) as full,
        bus.advertise("free", giusto.Offer(queue=1_000)) as free,
    ):
        with pytest.raises(QueueFull):
            publish_for_ever(full)
        for _ in range(100):
            assert free.try_publish(b"free")
        topics = Counter[str]()
        while topics["free"] < 100:
            topics[inbox.receive(timeout=WATCHDOG_S).topic] += 1
        full.publish(b"again", timeout=WATCHDOG_S)


def test_a_message_that_is_of_no_use_any_more_is_not_delivered() -> None:
    with BrokerProcess(**SLOW_PERIODS) as broker, Bystanders(broker.address) as bystanders:
        subscriber, publisher = broker.client("s"), broker.client("p")
        subscriber.ask(Subscribed, Subscribe(id=1, pattern="news"))
        flow = publisher.ask(Advertised, Advertise(id=1, topic="news")).flow
        old, now = 1_000_000, time.monotonic_ns()
        publisher.socket.sendall(
            frames(flow, [b"stale"] * 10, t_sent_ns=now - 2 * old, timeout_ns=old)
            + frames(flow, [b"fresh"], t_sent_ns=now, timeout_ns=int(WATCHDOG_S * 1e9))
            + frames(flow, [b"for ever"], t_sent_ns=1)
        )
        assert [subscriber.payload(), subscriber.payload()] == [b"fresh", b"for ever"]
        assert losses_until(publisher, 10) == {("news", "expired"): 10}
        bystanders.go_on(2)


def test_urgent_messages_pass_the_others_of_their_flow() -> None:
    with BrokerProcess(**SLOW_PERIODS) as broker:
        subscriber, publisher = broker.client("s"), broker.client("p")
        subscriber.ask(Subscribed, Subscribe(id=1, pattern="alarm"))
        flow = publisher.ask(Advertised, Advertise(id=1, topic="alarm")).flow
        calm = frames(flow, [b"calm"] * 20, priority=0)
        # In one piece, so that the broker has them all before it serves the first.
        publisher.socket.sendall(calm + frames(flow, [b"urgent"], priority=7))
        assert [subscriber.payload() for _ in range(21)] == [b"urgent"] + [b"calm"] * 20


# --- datagrams


@pytest.fixture(scope="module")
def datagram_broker() -> Iterator[BrokerProcess]:
    with BrokerProcess(listen=["tcp://127.0.0.1:0", "udp://127.0.0.1:0"]) as broker:
        yield broker
        require_alive(broker.process)


def datagram_socket() -> socket.socket:
    datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    datagrams.bind(("127.0.0.1", 0))
    datagrams.settimeout(WATCHDOG_S)
    return datagrams


@pytest.mark.parametrize("port", [0, -1, 65_536, 2**40])
def test_a_port_that_there_is_not_fails_the_connect(datagram_broker: BrokerProcess, port: int) -> None:
    with pytest.raises(AssertionError, match="udp_port"):
        RawClient(datagram_broker.address, udp_port=port)


def test_a_flood_of_datagrams_is_dropped_and_counted(datagram_broker: BrokerProcess) -> None:
    broker, count = datagram_broker, 50_000
    with (
        Bystanders(broker.address) as bystanders,
        datagram_socket() as datagrams,
        RawClient(broker.address, "flooder", udp_port=datagrams.getsockname()[1]) as flooder,
        RawClient(broker.address, "meter") as meter,
    ):
        place = ("127.0.0.1", flooder.connected.udp_port)
        flow = flooder.ask(Advertised, Advertise(id=1, topic="rain", offer=OfferTerms(queue=1))).flow
        for number in range(0, count, 100):
            datagrams.sendto(frames(flow, [b"%d" % number] * 100), place)
        bystanders.go_on(20)
        seen = counters(meter, "rain")
        assert seen["overflow"] > 0
        assert seen["ingested"] + seen["overflow"] <= count
        assert losses_until(flooder, 1).keys() == {("rain", "overflow")}


def test_datagrams_that_are_wrong_or_of_strangers_hurt_nobody(
    datagram_broker: BrokerProcess, seed: int
) -> None:
    broker, chance = datagram_broker, Random(seed)
    with (
        Bystanders(broker.address) as bystanders,
        datagram_socket() as datagrams,
        datagram_socket() as stranger,
        RawClient(broker.address, "honest", udp_port=datagrams.getsockname()[1]) as client,
    ):
        place = ("127.0.0.1", client.connected.udp_port)
        client.ask(Subscribed, Subscribe(id=1, pattern="calm"))
        flow = client.ask(Advertised, Advertise(id=2, topic="calm")).flow
        wrong = [b"", b"\0", frames(flow, [b"x"])[:-1], frames(flow + 1_000, [b"x"]), _core.encode_hello()]
        wrong += [chance.randbytes(chance.randint(1, 2_000)) for _ in range(200)]
        for datagram in wrong:
            datagrams.sendto(datagram, place)
            stranger.sendto(datagram, place)
        stranger.sendto(frames(flow, [b"forged"]), place)
        bystanders.go_on()
        datagrams.sendto(frames(flow, [b"good"]), place)
        received, _ = _core.decode(datagrams.recv(65_536))
        assert isinstance(received, _core.Data)
        assert received.payload == b"good"
        client.send(Status(id=3))
        while not isinstance(frame := client.frame(), _core.Control):
            assert frame is not None
        assert decode_reply(frame.body)
