"""The command `giusto`, as people use it: real processes, pipes and signals."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

import pytest
from raw import require_alive

from giusto.client import connect
from giusto.client.events import Matchedness
from giusto.contract import Need, Offer

GIUSTO = [sys.executable, "-m", "giusto"]
# Not a limit on speed: a command that never ends must not stop the test run.
WATCHDOG = 120
Process = subprocess.Popen[str]


def environment(address: str | None = None) -> dict[str, str]:
    """Nothing but the address reaches the command from the tests."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIUSTO_")}
    return kept if address is None else {**kept, "GIUSTO_ADDRESS": address}


def start(*words: str, address: str | None = None, **options: Any) -> Process:
    return subprocess.Popen(
        [*GIUSTO, *words],
        env=environment(address),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def run(*words: str, address: str | None = None, text: str = "") -> tuple[int, str, str]:
    done = subprocess.run(
        [*GIUSTO, *words],
        env=environment(address),
        input=text,
        capture_output=True,
        text=True,
        check=False,
        timeout=WATCHDOG,
    )
    return done.returncode, done.stdout, done.stderr


@contextmanager
def started(*words: str, address: str | None = None) -> Iterator[Process]:
    """A command that a test waits for."""
    process = start(*words, address=address)
    watchdog = threading.Timer(WATCHDOG, process.kill)
    watchdog.start()
    try:
        yield process
    finally:
        watchdog.cancel()
        end(process)


def end(process: Process) -> None:
    process.kill()
    process.communicate()


def line_of(stream: IO[str] | None) -> str:
    """The next line that a process prints."""
    assert stream is not None
    return stream.readline().removesuffix("\n")


@contextmanager
def broker_at(listen: str) -> Iterator[tuple[Process, str]]:
    """A broker that is ready, and its address."""
    with started("broker", "--listen", listen) as broker:
        yield broker, ready_at(broker)


def ready_at(broker: Process) -> str:
    ready, _, where = line_of(broker.stdout).partition(" ")
    assert ready == "ready", ready
    return where


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A broker in a process of its own. No watchdog ends it: all tests together may take longer."""
    broker = start("broker", "--listen", "tcp://127.0.0.1:0")
    try:
        yield ready_at(broker)
        require_alive(broker)
    finally:
        end(broker)


Await = Callable[[str], None]


@pytest.fixture
def subscribed(address: str) -> Await:
    """Returns when somebody is subscribed to a topic."""

    def wait(topic: str) -> None:
        with connect(address) as bus, bus.advertise(topic) as publisher:
            while publisher.matched == 0:
                while not isinstance(bus.events.receive(timeout=WATCHDOG), Matchedness):
                    pass

    return wait


def test_what_is_published_in_one_terminal_is_printed_in_another(address: str, subscribed: Await) -> None:
    with started("sub", "ward/+/alarm", "--count", "2", address=address) as sub:
        subscribed("ward/3/alarm")
        assert run("pub", "ward/3/alarm", "SpO2 low", address=address) == (
            0,
            "",
            "published 1 message on ward/3/alarm\n",
        )
        run("pub", "ward/4/alarm", "pulse", "-A", "pulse=180", address=address)
        out, error = sub.communicate(timeout=WATCHDOG)
    first, second = out.splitlines()
    assert first.startswith("ward/3/alarm  SpO2 low  (")
    assert second.startswith("ward/4/alarm  pulse  pulse=180  (")
    assert (sub.returncode, error) == (0, "")


def test_json_lines_of_what_a_filter_lets_through(address: str, subscribed: Await) -> None:
    with started("sub", "f", "--filter", "n > 1", "--json", "--count", "1", address=address) as sub:
        subscribed("f")
        for number in ("1", "2"):
            run("pub", "f", f"message {number}", "--attribute", f"n={number}", "-p", "7", address=address)
        line = json.loads(sub.communicate(timeout=WATCHDOG)[0])
    assert (line["topic"], line["payload"], line["priority"]) == ("f", "message 2", 7)
    assert line["attributes"] == {"n": 2}
    assert line["latency_ns"] == line["received_ns"] - line["sent_ns"]


def test_each_line_of_stdin_is_a_message(address: str, subscribed: Await) -> None:
    with started("sub", "l", "--raw", "--count", "3", address=address) as sub:
        subscribed("l")
        assert run("pub", "l", "-", address=address, text="one\ntwo\n\n")[0] == 0
        assert sub.communicate(timeout=WATCHDOG)[0] == "one\ntwo\n\n"


def test_a_rate_a_count_and_a_size(address: str, subscribed: Await) -> None:
    with started("sub", "r", "--json", "--count", "20", address=address) as sub:
        subscribed("r")
        run("pub", "r", "--rate", "1000/s", "--count", "20", "--size", "33", address=address)
        messages = [json.loads(line) for line in sub.communicate(timeout=WATCHDOG)[0].splitlines()]
    assert [message["sequence"] for message in messages] == list(range(20))
    assert {len(message["payload"]) for message in messages} == {33}


def test_a_rate_is_offered_so_that_a_topic_under_contract_can_be_published_on(address: str) -> None:
    with connect(address) as bus:
        needed = bus.subscribe("guarded", Need(max_latency="1min"))
        code, _, error = run("pub", "guarded", "--rate", "200/s", "-n", "3", "-A", "n=1", address=address)
        assert (code, error) == (0, "published 3 messages on guarded\n")
        assert [message.sequence for message in needed.receive_many(3, timeout=WATCHDOG)] == [0, 1, 2]
        code, _, error = run("pub", "guarded", "x", address=address)
        assert code == 1
        assert "a limit" in error


def test_ctrl_c_ends_a_waiting_subscriber_without_a_traceback(address: str, subscribed: Await) -> None:
    with started("sub", "c", address=address) as sub:
        subscribed("c")
        sub.send_signal(signal.SIGINT)
        out, error = sub.communicate(timeout=WATCHDOG)
    assert (sub.returncode, out, error) == (130, "", "")


def test_a_reader_that_goes_away_ends_the_subscriber_quietly(address: str, subscribed: Await) -> None:
    with started("sub", "p", address=address) as sub:
        subscribed("p")
        assert sub.stdout is not None
        sub.stdout.close()
        with connect(address) as bus, bus.advertise("p") as publisher:
            publisher.publish(b"nobody reads this")
            bus.flush()
        assert sub.wait(WATCHDOG) == 0
        assert sub.stderr is not None
        assert sub.stderr.read() == ""


@pytest.mark.parametrize("words", [["top", "--once"], ["top", "--json"], ["doctor"]])
def test_a_table_that_nobody_reads_is_no_failure(address: str, words: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [*GIUSTO, *words],
        env=environment(address),
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        timeout=WATCHDOG,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_subscriber_survives_its_broker_and_says_so() -> None:
    with ExitStack() as running:
        broker, where = running.enter_context(broker_at("tcp://127.0.0.1:0"))
        sub = running.enter_context(started("sub", "s", "-n", "1", "--max-latency", "1min", address=where))
        assert line_of(sub.stderr).startswith("Granted: never later than ")
        broker.kill()
        told = line_of(sub.stderr)
        assert told.startswith("giusto: connection lost: ")
        running.enter_context(broker_at(where.replace("giusto://", "tcp://")))
        # A connection that is made while the old broker is still dying is lost as well.
        while told.startswith("giusto: connection lost: "):
            told = line_of(sub.stderr)
        assert told.startswith("giusto: connection restored after ")
        with connect(where) as bus:
            bus.advertise("s", Offer(min_sep="1s", max_size=1000)).publish(b"again")
        assert sub.communicate(timeout=WATCHDOG)[0].startswith("s  again  (")
        assert sub.returncode == 0


def test_nothing_for_too_long_is_a_failure(address: str) -> None:
    code, out, error = run("sub", "silence", "--timeout", "50ms", address=address)
    assert (code, out) == (1, "")
    assert error == "giusto: subscription to silence: nothing after 0.05 s\n"


def test_top_shows_topics_and_clients(address: str) -> None:
    with connect(address, name="monitor") as bus, bus.advertise("top/topic") as publisher:
        publisher.publish(b"x")
        bus.status()
        code, out, _ = run("top", "--once", "--json", address=address)
        seen = json.loads(out)
        assert code == 0
        assert "top/topic" in [row["topic"] for row in seen["topics"]]
        assert "monitor" in [row["client"] for row in seen["clients"]]
        code, out, _ = run("top", "--count", "1", "--interval", "20ms", address=address)
    assert code == 0
    assert "top/topic" in out
    assert "monitor" in out
    assert "\x1b" not in out, "a pipe gets no colours"


def test_views_show_who_publishes_and_who_receives(address: str) -> None:
    with connect(address, name="seen") as bus, bus.advertise("views/topic"), bus.subscribe("views/#"):
        code, out, _ = run("views", "views/+", "--json", address=address)
        seen = json.loads(out)
        assert (code, seen["topics"], seen["clients"]) == (0, ["views/topic"], ["seen"])
        assert (seen["matrix_in"], seen["matrix_out"]) == ([[1]], [[1]])
        code, out, _ = run("views", address=address)
    assert code == 0
    assert "views/topic" in out
    assert run("views", "#/a", address=address)[0] == 2


def test_a_measurement_of_a_broker_of_its_own() -> None:
    code, out, error = run("bench", "--local", "-r", "500/s", "-d", "200ms", "--warm-up", "100ms", "--json")
    assert code == 0
    # Nothing but what the broker says at its start.
    assert [line.partition(" on ")[0] for line in error.splitlines()] == ["promises rest"]
    fields = json.loads(out)
    assert (fields["sent"], fields["received"], fields["measured"], fields["lost"]) == (150, 150, 100, 0)
    latency = fields["latency_from_intended"]
    assert 0 < latency["min_ns"] <= latency["p50_ns"] <= latency["p99.99_ns"] <= latency["max_ns"]
    assert fields["latency_from_sent"]["min_ns"] <= latency["min_ns"]


def test_a_measurement_as_fast_as_possible(address: str) -> None:
    code, out, _ = run(
        "bench", "--rate", "max", "--batch", "16", "-d", "100ms", "--warm-up", "0s", address=address
    )
    assert code == 0
    assert "received " in out
    assert " p99.99 " in out


@pytest.mark.parametrize("command", ["pub", "sub", "top", "bench"])
def test_without_a_broker_one_line_says_what_to_do(command: str) -> None:
    words = {"pub": ["t", "x"], "sub": ["t"]}.get(command, [])
    code, out, error = run(command, *words, address="giusto://127.0.0.1:1")
    assert (code, out) == (1, "")
    assert error.count("\n") == 1
    assert error.startswith("giusto: no broker at giusto://127.0.0.1:1: ")
    assert "giusto broker" in error


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["pub"], "TOPIC"),
        (["nonsense"], "nonsense"),
        (["sub", "t", "--count", "0"], "--count = 0: expected at least 1"),
        (["pub", "t", "--rate", "fast"], "--rate = fast: expected a rate"),
        (["bench", "--local", "--size", "-1"], "--size = -1"),
        (["broker", "--input", "best"], "broker.input = best"),
        (["broker", "--config", "missing.toml"], "config = missing.toml"),
    ],
)
def test_a_wrong_call_is_explained_and_ends_with_2(words: list[str], problem: str) -> None:
    code, out, error = run(*words)
    assert (code, out) == (2, "")
    assert problem in error
    assert "Traceback" not in error


def test_a_broker_takes_its_settings_from_a_file_and_ends_in_good_order(tmp_path: Path) -> None:
    settings = tmp_path / "giusto.toml"
    settings.write_text(f'[broker]\nlisten = ["unix://{tmp_path}/socket"]\ninput = "fair"\n')
    with started("broker", "--config", str(settings)) as broker:
        where = line_of(broker.stdout).split()[1]
        assert where == f"giusto+unix://{tmp_path}/socket"
        assert json.loads(run("top", "--once", "--json", address=where)[1])["input"] == "fair"
        broker.send_signal(signal.SIGTERM)
        assert broker.wait(WATCHDOG) == 0


def test_an_address_that_is_taken_is_a_failure(address: str) -> None:
    taken = address.replace("giusto://", "tcp://")
    code, out, error = run("broker", "--listen", taken)
    assert (code, out) == (1, "")
    assert error.count("\n") == 1
    assert error == f"giusto: broker.listen = {taken}: in use by another program; see `giusto doctor`\n"


def test_a_broker_that_everybody_reaches_says_so() -> None:
    with broker_at("tcp://0.0.0.0:0") as (broker, where):
        assert where.startswith("giusto://127.0.0.1:")
        port = where.rpartition(":")[2]
        said = f"tcp://0.0.0.0:{port}: every machine that reaches this one may connect"
        assert line_of(broker.stderr) == said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("bench", "--local", "--address", "giusto://x"), "either --local or --address"),
        (("top", "--once", "--count", "3"), "either --once or --count"),
        (("top", "--count", "0"), "--count = 0: expected at least 1"),
        (("pub", "a", "x", "-A", "x=1", "-A", "x=2"), "each name once"),
        (("pub", "a", "x", "--name", ""), "--name = : expected a name"),
        (("pub", "a", "x", "--timeout", "0s"), "--timeout = 0s: expected more than 0"),
        (("sub", "a", "--timeout", "5"), "--timeout = 5: expected a duration with its unit"),
        (("sub", "a", "--max-latency", "-1s"), "--max-latency = -1s: expected more than 0"),
        (("pub", "a", "--size", "2000000"), "bytes of payload and attributes = 2000000: expected at most"),
        (("pub", "a", "x", "--priority", "9"), "--priority = 9: expected a whole number from 0 to 7"),
        (("broker", "--mode", "time"), "broker.mode = time: expected --period and --budget"),
    ],
)
def test_a_wrong_call_names_the_option_in_one_line(address: str, words: tuple[str, ...], said: str) -> None:
    code, out, error = run(*words, address=address)
    assert (code, out, error.count("\n")) == (2, "", 1)
    assert said in error


def test_who_publishes_for_nobody_is_told(address: str) -> None:
    assert run("pub", "alone", "x", address=address) == (
        0,
        "",
        "published 1 message on alone (nobody subscribes)\n",
    )


def test_a_name_that_another_client_has_is_said_to_be_so(address: str) -> None:
    with connect(address, name="taken"):
        code, _, error = run("pub", "a", "x", "--name", "taken", address=address)
    assert (code, error) == (1, "giusto: --name taken: another client has this name\n")


def test_the_doctor_knows_a_broker_when_it_meets_one(address: str) -> None:
    port = address.removeprefix("giusto://")
    code, out, error = run("doctor", "--port", port, "--json")
    assert (code, error) == (0, "")
    found = {finding["what"]: finding["found"] for finding in json.loads(out)}
    assert found[f"port {port}"] == "a giusto broker answers"
    assert "\x1b" not in run("doctor", "--port", port)[1]


def test_help_is_quick_because_it_loads_nothing_heavy() -> None:
    heavy = {"rich", "msgspec", "asyncio", "giusto._core", "giusto.client", "giusto.broker"}
    code = f"import sys, giusto.cli.app; print(sorted({heavy!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
