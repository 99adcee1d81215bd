"""The blocking face against a broker in a process of its own, over real sockets."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from raw import WATCHDOG_S, BrokerProcess, require_alive

import giusto
from giusto import Need, Offer
from giusto.errors import InvalidInput, QueueFull, RequestFailed, TooLarge


@pytest.fixture(scope="module")
def broker() -> Iterator[BrokerProcess]:
    """One broker for all tests; each uses topics of its own."""
    with BrokerProcess() as process:
        yield process
        require_alive(process.process)


@pytest.fixture
def bus(broker: BrokerProcess) -> Iterator[giusto.Bus]:
    """A client."""
    with giusto.connect(broker.address) as connected:
        yield connected


def until(pid: int, state: str) -> None:
    """Wait until every thread of a process sleeps (`S`) or is stopped (`T`)."""
    deadline = time.monotonic() + WATCHDOG_S
    while any(
        stat.read_text().rsplit(") ")[1][0] != state for stat in Path(f"/proc/{pid}/task").glob("*/stat")
    ):
        assert time.monotonic() < deadline


def test_a_message_arrives_with_all_that_was_said_about_it(bus: giusto.Bus) -> None:
    subscription = bus.subscribe("whole/+")
    publisher = bus.advertise("whole/1", Offer(max_size=64))
    publisher.publish(b"payload", priority=5, attributes={"patient": 7}, intended_ns=123)
    message = subscription.receive(WATCHDOG_S)
    assert (message.topic, message.payload, message.source) == ("whole/1", b"payload", bus.name)
    assert (message.priority, message.sequence, message.intended_ns) == (5, 0, 123)
    assert message.attributes == {"patient": 7}
    assert 0 < message.latency_ns == message.received_ns - message.sent_ns


def test_many_messages_keep_their_order_across_bursts(bus: giusto.Bus) -> None:
    subscription = bus.subscribe("order")
    publisher = bus.advertise("order", Offer(queue=64))
    count = 20_000
    thread = threading.Thread(
        target=lambda: [publisher.publish(b"%d" % number) for number in range(count)], daemon=True
    )
    thread.start()
    received = [int(message.payload) for _, message in zip(range(count), subscription, strict=False)]
    thread.join(WATCHDOG_S)
    assert received == sorted(set(received))
    assert len(received) + subscription.report.lost == received[-1] + 1


def test_several_threads_receive_at_once(bus: giusto.Bus) -> None:
    subscriptions = [bus.subscribe(f"thread/{number}") for number in range(4)]
    publishers = [bus.advertise(f"thread/{number}") for number in range(4)]
    received: dict[int, list[bytes]] = {}

    def receive(number: int) -> None:
        received[number] = [subscriptions[number].receive(WATCHDOG_S).payload for _ in range(50)]

    threads = [threading.Thread(target=receive, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for turn in range(50):
        for publisher in publishers:
            publisher.publish(b"%d" % turn)
    for thread in threads:
        thread.join(WATCHDOG_S)
    assert received == {number: [b"%d" % turn for turn in range(50)] for number in range(4)}


def test_a_filter_lets_through_what_it_says(bus: giusto.Bus) -> None:
    some = bus.subscribe("filter", filter="heart > 100")
    every = bus.subscribe("filter")
    publisher = bus.advertise("filter")
    for heart in (90, 110, 100, 130):
        publisher.publish(b"%d" % heart, attributes={"heart": heart})
    assert [every.receive(WATCHDOG_S).payload for _ in range(4)] == [b"90", b"110", b"100", b"130"]
    assert [message.payload for message in some.receive_many()] == [b"110", b"130"]


def test_batches_go_and_come(bus: giusto.Bus) -> None:
    subscription = bus.subscribe("batch")
    publisher = bus.advertise("batch", Offer(queue=100))
    payloads = [b"%d" % number for number in range(1_000)]
    publisher.publish_many(payloads)
    received: list[bytes] = []
    while len(received) < 1_000:
        received += [message.payload for message in subscription.receive_many(300, timeout=WATCHDOG_S)]
    assert received == payloads
    assert subscription.receive_many(5, timeout="1ms") == []


def test_a_callback_is_called_with_each_message(bus: giusto.Bus) -> None:
    done = threading.Event()
    received: list[bytes] = []

    def take(message: giusto.Message) -> None:
        received.append(message.payload)
        if len(received) == 600:
            done.set()

    bus.subscribe("callback", callback=take)
    bus.advertise("callback").publish_many([b"%d" % number for number in range(600)])
    assert done.wait(WATCHDOG_S)
    assert received == [b"%d" % number for number in range(600)]


def test_a_callback_that_ends_its_thread_ends_nothing(
    bus: giusto.Bus, caplog: pytest.LogCaptureFixture
) -> None:
    called = threading.Semaphore(0)

    def leave(message: giusto.Message) -> None:
        called.release()
        sys.exit(3)

    bus.subscribe("leave", callback=leave)
    bus.advertise("leave").publish_many([b"1", b"2", b"3"])
    assert all(called.acquire(timeout=WATCHDOG_S) for _ in range(3))
    assert "SystemExit" in caplog.text


def test_available_and_purge(bus: giusto.Bus) -> None:
    subscription = bus.subscribe("purge")
    publisher = bus.advertise("purge")
    publisher.publish_many([b"a", b"b", b"c"])
    assert subscription.receive(WATCHDOG_S).payload == b"a"
    while subscription.available() < 2:
        bus.status()
    assert subscription.purge() == 2
    assert subscription.available() == 0


class Reading(msgspec.Struct):
    """A typed payload whose size is bounded."""

    patient: int
    low: bool


def test_typed_payloads_infer_the_size_of_the_offer(bus: giusto.Bus) -> None:
    subscription = bus.subscribe("typed", type=Reading)
    publisher = bus.advertise("typed", type=Reading)
    assert publisher.offer.max_size_bytes is not None
    publisher.publish(Reading(7, True))
    message = subscription.receive(WATCHDOG_S)
    assert message.value == Reading(7, True)
    assert len(message.payload) <= publisher.offer.max_size_bytes


def test_requests_are_answered_also_with_what_the_handler_raised(
    broker: BrokerProcess, bus: giusto.Bus
) -> None:
    def double(message: giusto.Message) -> bytes:
        if not message.payload:
            raise ValueError("nothing to double")
        return message.payload * 2

    with giusto.connect(broker.address) as server:
        server.serve("double", double)
        assert bus.request("double", b"ab", timeout=WATCHDOG_S).payload == b"abab"
        with pytest.raises(RequestFailed, match="ValueError: nothing to double"):
            bus.request("double", b"", timeout=WATCHDOG_S)
    with pytest.raises(giusto.TimedOut, match="nobody subscribes"):
        bus.request("nobody", b"", timeout="1ms")


def test_who_publishes_under_contract_asks_and_answers_over_a_second_connection(
    broker: BrokerProcess, bus: giusto.Bus
) -> None:
    bus.subscribe("guarded/alarm", Need(max_latency="50ms"))
    with giusto.connect(broker.address, name="guarded-monitor") as monitor:
        monitor.advertise("guarded/alarm", Offer(min_sep="10ms", max_size=256))
        monitor.serve("guarded/double", lambda message: message.payload * 2)
        assert bus.request("guarded/double", b"ab", timeout=WATCHDOG_S).payload == b"abab"
        assert monitor.request("guarded/double", b"cd", timeout=WATCHDOG_S).payload == b"cdcd"
        assert "guarded-monitor~" in {client.name for client in bus.status().clients}


def test_what_is_wrong_is_refused_with_its_name(bus: giusto.Bus) -> None:
    publisher = bus.advertise("wrong", Offer(max_size=4))
    with pytest.raises(TooLarge):
        publisher.publish(b"12345")
    with pytest.raises(InvalidInput, match="payload = str: expected bytes"):
        publisher.publish("text")
    with pytest.raises(InvalidInput, match="priority"):
        publisher.publish(b"", priority=8)
    with pytest.raises(InvalidInput, match="queue"):
        bus.subscribe("wrong", queue=0)
    with pytest.raises(InvalidInput, match="overflow"):
        bus.subscribe("wrong", overflow="block")
    with pytest.raises(giusto.GiustoError):
        bus.subscribe("wrong/#/pattern")
    with pytest.raises(giusto.GiustoError):
        bus.advertise("wrong/+")


def test_ended_parties_raise_closed_and_end_their_iteration(bus: giusto.Bus) -> None:
    publisher, subscription = bus.advertise("ended"), bus.subscribe("ended")
    publisher.unadvertise()
    subscription.unsubscribe()
    with pytest.raises(giusto.Closed, match="unadvertise"):
        publisher.publish(b"")
    with pytest.raises(giusto.Closed, match="unsubscribe"):
        subscription.receive()
    assert list(subscription) == []
    bus.advertise("ended").publish(b"again")


def test_who_waits_hears_that_the_bus_was_closed(broker: BrokerProcess) -> None:
    bus = giusto.connect(broker.address)
    subscription = bus.subscribe("closed")
    heard: list[str] = []

    def receive() -> None:
        try:
            subscription.receive()
        except giusto.Closed as closed:
            heard.append(str(closed))

    def iterate() -> None:
        heard.append(f"{len(list(bus.subscribe('closed too')))} messages")

    threads = [threading.Thread(target=receive), threading.Thread(target=iterate)]
    for thread in threads:
        thread.start()
    while len(bus.subscribers("closed too")) == 0:
        pass
    bus.close()
    for thread in threads:
        thread.join(WATCHDOG_S)
    assert sorted(heard) == ["0 messages", "the bus was closed"]
    with pytest.raises(giusto.Closed):
        bus.subscribe("more")


def test_the_broker_tells_who_publishes_and_subscribes(bus: giusto.Bus) -> None:
    bus.advertise("parties/1", Offer(min_sep="10ms", max_size=256))
    bus.subscribe("parties/+", Need(max_latency="5ms"))
    (publisher,) = bus.publishers("parties/1")
    (subscriber,) = bus.subscribers("parties/1")
    assert (publisher.name, subscriber.name, subscriber.pattern) == (bus.name, bus.name, "parties/+")
    assert "parties/1" in {topic.topic for topic in bus.status().topics}


def test_an_event_tells_of_a_publisher_that_breaks_its_offer(bus: giusto.Bus) -> None:
    publisher = bus.advertise("policed", Offer(min_sep="60min"))
    publisher.publish_many([b"one", b"two", b"three"])
    events = (bus.events.receive(WATCHDOG_S) for _ in range(100))
    violation = next(event for event in events if isinstance(event, giusto.Violation))
    assert (violation.party, violation.reason, violation.count) == (publisher, "policed", 2)


def test_without_credit_publishing_waits_no_longer_than_told(broker: BrokerProcess) -> None:
    with giusto.connect(broker.address) as bus:
        publisher = bus.advertise("credit", Offer(queue=1))
        broker.signal(signal.SIGSTOP)
        until(broker.process.pid, "T")
        try:
            publisher.publish(b"takes the credit")
            with pytest.raises(QueueFull):
                publisher.publish(b"", timeout=0)
            with pytest.raises(giusto.TimedOut):
                publisher.publish(b"", timeout="20ms")
        finally:
            broker.signal(signal.SIGCONT)
        publisher.publish(b"there is credit again", timeout=WATCHDOG_S)


@pytest.mark.parametrize("call", ["subscription.receive()", "list(subscription)", "bus.events.receive()"])
def test_control_c_ends_a_blocking_call(broker: BrokerProcess, call: str) -> None:
    program = (
        "import sys, giusto\n"
        "bus = giusto.connect(sys.argv[1])\n"
        "subscription = bus.subscribe('never')\n"
        "print('waiting', flush=True)\n"
        f"try: {call}\n"
        "except KeyboardInterrupt: print('interrupted', flush=True)\n"
    )
    command = [sys.executable, "-c", program, broker.address]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "waiting\n"
        until(process.pid, "S")
        os.kill(process.pid, signal.SIGINT)
        assert process.communicate(timeout=WATCHDOG_S)[0] == "interrupted\n"


def test_nobody_at_the_address_says_what_to_do() -> None:
    with pytest.raises(giusto.Unreachable, match="giusto broker"):
        giusto.connect("giusto://127.0.0.1:1")
    with pytest.raises(InvalidInput, match="giusto://host:port"):
        giusto.connect("tcp://127.0.0.1:1")


@pytest.mark.parametrize("kind", ["unix", "udp"])
def test_other_transports_carry_messages(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "socket"
    listen = {"unix": [f"unix://{path}"], "udp": ["udp://127.0.0.1:0", "tcp://127.0.0.1:0"]}[kind]
    with BrokerProcess(listen=listen) as broker:
        address = (
            f"giusto+unix://{path}" if kind == "unix" else broker.address.replace("giusto", "giusto+udp")
        )
        with giusto.connect(address) as bus:
            subscription = bus.subscribe("transport")
            publisher = bus.advertise("transport")
            publisher.publish(b"small")
            publisher.publish(b"x" * 100_000)
            sizes = {len(subscription.receive(WATCHDOG_S).payload) for _ in range(2)}
            assert sizes == {5, 100_000}


def test_a_program_that_ends_without_closing_has_sent_everything(
    broker: BrokerProcess, bus: giusto.Bus
) -> None:
    program = (
        "import sys, giusto\n"
        "bus = giusto.connect(sys.argv[1])\n"
        "publisher = bus.advertise('end')\n"
        "for number in range(1000): publisher.publish(b'%d' % number)\n"
    )
    subscription = bus.subscribe("end")
    subprocess.run([sys.executable, "-c", program, broker.address], check=True, timeout=WATCHDOG_S)
    received = [int(message.payload) for _, message in zip(range(1_000), subscription, strict=False)]
    assert received == list(range(1_000))


def test_threads_may_publish_on_one_publisher(bus: giusto.Bus) -> None:
    subscription = bus.subscribe("shared")
    publisher = bus.advertise("shared", Offer(queue=256))

    def publish(letter: bytes) -> None:
        for number in range(500):
            publisher.publish(b"%s %d" % (letter, number))

    threads = [threading.Thread(target=publish, args=(letter,)) for letter in (b"a", b"b", b"c")]
    for thread in threads:
        thread.start()
    received = [message for _, message in zip(range(1_500), subscription, strict=False)]
    for thread in threads:
        thread.join(WATCHDOG_S)
    assert [message.sequence for message in received] == list(range(1_500))
    for letter in (b"a", b"b", b"c"):
        own = [message.payload for message in received if message.payload.startswith(letter)]
        assert own == [b"%s %d" % (letter, number) for number in range(500)]


def publish_until_closed(publisher: giusto.Publisher, begun: threading.Event) -> None:
    while True:
        try:
            publisher.publish(b"x" * 100)
        except giusto.Closed:
            return
        begun.set()


def test_unadvertising_under_a_publishing_thread_ends_that_thread_and_nothing_else(bus: giusto.Bus) -> None:
    for number in range(10):
        publisher = bus.advertise(f"busy/{number}")
        begun = threading.Event()
        thread = threading.Thread(target=publish_until_closed, args=(publisher, begun))
        thread.start()
        assert begun.wait(WATCHDOG_S)
        publisher.unadvertise()
        thread.join(WATCHDOG_S)
        assert not thread.is_alive()
    assert bus.status().run == bus.run
    told = [bus.events.receive(0) for _ in range(bus.events.available())]
    assert not [event for event in told if isinstance(event, giusto.Lost)]


def test_a_child_that_ends_leaves_its_parent_the_connection(broker: BrokerProcess) -> None:
    program = (
        "import os, sys, giusto\n"
        "bus = giusto.connect(sys.argv[1])\n"
        "subscription, publisher = bus.subscribe('family'), bus.advertise('family')\n"
        "def child():\n"
        "    global bus, subscription, publisher\n"
        "    if sys.argv[2] == 'drop': del bus, subscription, publisher\n"
        "    sys.exit(0)\n"
        "if os.fork() == 0: child()\n"
        "assert os.wait()[1] == 0\n"
        "publisher.publish(b'still here')\n"
        "assert subscription.receive(10).payload == b'still here'\n"
        "told = [bus.events.receive(0) for _ in range(bus.events.available())]\n"
        "assert not [event for event in told if isinstance(event, giusto.Lost)], told\n"
    )
    for how in ("exit", "drop"):
        subprocess.run([sys.executable, "-c", program, broker.address, how], check=True, timeout=WATCHDOG_S)


def test_a_child_cannot_use_the_bus_of_its_parent(broker: BrokerProcess) -> None:
    program = (
        "import os, sys, giusto\n"
        "bus = giusto.connect(sys.argv[1])\n"
        "subscription, publisher = bus.subscribe('fork'), bus.advertise('fork')\n"
        "def child():\n"
        "    for use in (bus.status, lambda: publisher.publish(b'no'), lambda: subscription.receive(60)):\n"
        "        try: use()\n"
        "        except giusto.Closed as error: assert 'another process' in str(error)\n"
        "        else: os._exit(1)\n"
        "    os._exit(0)\n"
        "if os.fork() == 0: child()\n"
        "assert os.wait()[1] == 0\n"
        "publisher.publish(b'still here')\n"
        "assert subscription.receive(60).payload == b'still here'\n"
    )
    subprocess.run([sys.executable, "-c", program, broker.address], check=True, timeout=WATCHDOG_S)


@pytest.mark.parametrize("answer", [b"HTTP/1.0 400 Bad Request\r\n\r\n", b""])
def test_what_answers_and_is_no_broker_is_called_so(answer: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        address = f"giusto://127.0.0.1:{stranger.getsockname()[1]}"

        def talk() -> None:
            accepted, _ = stranger.accept()
            with accepted:
                accepted.sendall(answer)
                while accepted.recv(4_096):
                    pass

        talker = threading.Thread(target=talk)
        talker.start()
        with pytest.raises(giusto.Unreachable, match="not a giusto broker") as caught:
            giusto.connect(address, timeout="200ms" if not answer else WATCHDOG_S)
        assert caught.value.address == address
        talker.join(WATCHDOG_S)


def test_the_asyncio_face_is_a_module_to_import() -> None:
    program = "import giusto.aio\nfrom giusto.aio import connect\nassert giusto.aio.connect is connect"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=WATCHDOG_S)
