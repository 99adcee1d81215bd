"""Which brokers are on this machine, how each is started with nothing kept on disk, and how it is ended."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from giusto import __version__

START_SECONDS = 20.0
END_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Broker:
    """A broker that can be started; `dialect` is how `load` speaks to it."""

    name: str
    dialect: str
    version: str
    command: Callable[[int, Path], list[str]]


@dataclass(frozen=True, slots=True)
class Missing:
    """A peer that is not here, and what to do about it."""

    name: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Running:
    """A broker that takes connections."""

    port: int
    pid: int

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"


def find(relay: Path) -> tuple[list[Broker], list[Missing]]:
    """All brokers that are here, and those that are not."""
    found: list[Broker | Missing] = [
        Broker("relay", "relay", "two system calls", lambda port, _: [str(relay), f"127.0.0.1:{port}"]),
        giusto(),
        *nats(),
        debian("redis", "redis", "redis-server", redis_command),
        debian("mosquitto", "mqtt", "mosquitto", mosquitto_command),
    ]
    return (
        [one for one in found if isinstance(one, Broker)],
        [one for one in found if isinstance(one, Missing)],
    )


def giusto() -> Broker:
    """Ours, with the settings that everybody gets."""

    def command(port: int, _: Path) -> list[str]:
        return [sys.executable, "-m", "giusto", "broker", "--listen", f"tcp://127.0.0.1:{port}"]

    return Broker("giusto", "giusto", __version__, command)


def debian(
    name: str, dialect: str, program: str, command: Callable[[str, int, Path], list[str]]
) -> Broker | Missing:
    """A broker from a Debian package."""
    path = packaged(program)
    if path is None:
        return Missing(name, f"apt install {program}")
    return Broker(name, dialect, version(path), lambda port, folder: command(path, port, folder))


def nats() -> list[Broker | Missing]:
    """The NATS server of the distribution, and the one that `go install` made, if it is another version."""
    old, new = packaged("nats-server"), go_programs() / "nats-server"
    found: list[Broker | Missing] = []
    if old is None:
        found.append(Missing("nats", "apt install nats-server"))
    else:
        found.append(Broker("nats", "nats", version(old), nats_command(old)))
    if not new.exists():
        found.append(Missing("nats-new", "go install github.com/nats-io/nats-server/v2@latest"))
    elif old is None or version(str(new)) != version(old):
        found.append(Broker("nats-new", "nats", version(str(new)), nats_command(str(new))))
    return found


def packaged(program: str) -> str | None:
    """Where the system's own program is, also where only administrators look; then any other."""
    return shutil.which(program, path="/usr/bin:/usr/sbin") or shutil.which(program)


def nats_command(path: str) -> Callable[[int, Path], list[str]]:
    return lambda port, _: [path, "-a", "127.0.0.1", "-p", str(port)]


def redis_command(path: str, port: int, folder: Path) -> list[str]:
    unsaved = ["--save", "", "--appendonly", "no", "--dir", str(folder)]
    return [path, "--bind", "127.0.0.1", "--port", str(port), *unsaved]


def mosquitto_command(path: str, port: int, folder: Path) -> list[str]:
    # Without nodelay it waits for more to send: 17 ms at the 95th percentile with five subscribers.
    settings = [f"listener {port} 127.0.0.1", "allow_anonymous true", "persistence false"]
    settings += ["set_tcp_nodelay true", "log_type error"]
    file = folder / "mosquitto.conf"
    file.write_text("\n".join(settings) + "\n", encoding="utf-8")
    return [path, "-c", str(file)]


def go_programs() -> Path:
    """Where `go install` puts programs."""
    if shutil.which("go") is None:
        return Path.home() / "go" / "bin"
    asked = subprocess.run(["go", "env", "GOBIN", "GOPATH"], capture_output=True, text=True, check=True)
    gobin, gopath = asked.stdout.splitlines()
    return Path(gobin) if gobin else Path(gopath) / "bin"


def version(program: str) -> str:
    """The first thing that looks like a version in what the program says about itself."""
    option = "-h" if "mosquitto" in program else "--version"
    said = subprocess.run([program, option], capture_output=True, text=True, check=False)
    number = re.search(r"\d+\.\d+(\.\d+)?", said.stdout + said.stderr)
    return number.group() if number else "unknown version"


@contextmanager
def running(broker: Broker) -> Iterator[Running]:
    """A fresh process of the broker on a free port, ended with what it left behind."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        port = free_port()
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                broker.command(port, folder), cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        try:
            wait_for(port, process, folder / "log")
            yield Running(port, process.pid)
        finally:
            end(process)


def free_port() -> int:
    """A port that nobody had a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    """Return when the broker takes connections; fail with what it said if it ends instead."""
    patience = time.monotonic() + START_SECONDS
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            if process.poll() is not None or time.monotonic() > patience:
                said = log.read_text(encoding="utf-8", errors="replace").strip()
                raise RuntimeError(f"{process.args!r} does not serve: {said}") from None
            time.sleep(0.02)


def end(process: subprocess.Popen[bytes]) -> None:
    """Ask it to stop, and make it if it does not."""
    if process.poll() is None:
        process.terminate()
    try:
        process.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
