"""A broker in a process of its own, and clients that speak frames over plain sockets."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Callable
from typing import Any, Self, TypeVar

from giusto import _core
from giusto.protocol import (
    AnyAnswer,
    AnyNotice,
    Connect,
    Connected,
    Failed,
    Request,
    Wire,
    decode_reply,
    encode,
)

# How long a test waits for what must come: far beyond any machine's stall.
WATCHDOG_S = 60.0
SERVE = (
    "import json, sys; from giusto.broker import serve; from giusto.config import load; "
    "sys.exit(serve(load(flags=json.loads(sys.argv[1]))))"
)
Told = TypeVar("Told", bound=Wire)


def require_alive(process: subprocess.Popen[str]) -> None:
    """Fail with the last words of a process that should still run."""
    if process.poll() is not None:
        said = process.stderr.read() if process.stderr is not None else ""
        raise AssertionError(f"the broker has ended with status {process.returncode}: {said[-2000:]!r}")


class BrokerProcess:
    """`giusto broker` without the command line; flags are those of `load`, without `broker.`."""

    def __init__(self, **flags: Any) -> None:
        given = {
            "broker.listen": ["tcp://127.0.0.1:0"],
            **{key if "." in key else f"broker.{key}": value for key, value in flags.items()},
        }
        self.process = subprocess.Popen(
            [sys.executable, "-c", SERVE, json.dumps(given)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._clients: list[RawClient] = []
        assert self.process.stdout is not None
        self.ready = self.process.stdout.readline().strip()
        self.address = self.ready.removeprefix("ready ")

    def client(self, name: str = "") -> RawClient:
        """A client that is closed with the broker at the latest."""
        self._clients.append(RawClient(self.address, name))
        return self._clients[-1]

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def wait(self) -> int:
        return self.process.wait(WATCHDOG_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        for client in self._clients:
            client.close()
        self.process.kill()
        self.process.communicate()


class RawClient:
    """One connection: says hello and Connect, then whatever the test wants."""

    def __init__(self, address: str, name: str = "", *, udp_port: int | None = None) -> None:
        self.socket = dial(address)
        self._decoder = _core.FrameDecoder()
        self._request = 0
        try:
            self.socket.sendall(_core.encode_hello())
            assert isinstance(self.frame(), _core.Hello)
            self.connected = self.ask(Connected, Connect(id=0, name=name, version="test", udp_port=udp_port))
        except BaseException:
            self.close()
            raise

    def frame(self) -> Any:
        """The next frame; `None` at the end of the connection."""
        while True:
            for frame in self._decoder:
                return frame
            data = self.socket.recv(65_536)
            if not data:
                return None
            self._decoder.feed(data)

    def reply(self) -> AnyAnswer | AnyNotice:
        """The next control frame; other frames before it are passed over."""
        while not isinstance(frame := self.frame(), _core.Control):
            assert frame is not None, "the broker closed the connection"
        return decode_reply(frame.body)

    def payload(self) -> bytes:
        """The payload of the next data frame; other frames before it are passed over."""
        while not isinstance(frame := self.frame(), _core.Data):
            assert frame is not None, "the broker closed the connection"
        return frame.payload

    def until(self, kind: type[Told], wanted: Callable[[Told], bool] = lambda _: True) -> Told:
        """The next answer or notice of a kind that is as wanted; others before it are passed over."""
        while True:
            reply = self.reply()
            if isinstance(reply, kind) and wanted(reply):
                return reply
            assert not isinstance(reply, Failed), reply

    def send(self, request: Request) -> None:
        self.socket.sendall(_core.encode_control(encode(request)))

    def ask(self, kind: type[Told], request: Request) -> Told:
        """The answer to a request; notices before it are passed over."""
        self.send(request)
        return self.until(kind)

    def publish(self, flow: int, *payloads: bytes) -> None:
        frames = [
            _core.encode_data(payload, stream=flow, sequence=sequence, t_sent_ns=0)
            for sequence, payload in enumerate(payloads)
        ]
        self.socket.sendall(b"".join(frames))

    def close(self) -> None:
        self.socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def dial(address: str) -> socket.socket:
    """A stream to a broker's address."""
    scheme, _, rest = address.partition("://")
    if scheme.endswith("unix"):
        stream = socket.socket(socket.AF_UNIX)
        stream.settimeout(WATCHDOG_S)
        stream.connect(rest)
        return stream
    host, _, port = rest.rpartition(":")
    return socket.create_connection((host.strip("[]"), int(port)), timeout=WATCHDOG_S)
