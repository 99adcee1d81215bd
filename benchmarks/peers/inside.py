"""What a giusto broker says about itself: the delays within it, from ingress to egress."""

from __future__ import annotations

import socket

from giusto import __version__, _core, protocol

TIMEOUT_SECONDS = 10.0
# A turn of the data thread with one other client that floods: what is read from that client (a quarter of
# 64 KiB, since two clients send, in frames of 184 bytes), the steps of the engine (a quarter of 128), and the
# writing of what waits for the subscriber of the flood, 256 messages at most.
TURN_MESSAGES = 16_384 // 184 + 32 + 256


def turn_us(rate: float) -> float:
    """How long a message waits in the broker at most, once it was read, if every message costs `1 / rate`.

    Within a turn the input stage serves it after at most one message of each other topic; it leaves when
    the turn ends. The machine may still take the processor away, which no bound of ours can know.
    """
    return TURN_MESSAGES / rate * 1e6


def delays(port: int, topic: str) -> dict[str, float]:
    """Percentiles of the time that messages of a topic spent in the broker, in microseconds."""
    with socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_SECONDS) as connection:
        connection.sendall(_core.encode_hello())
        ask(connection, protocol.Connect(id=1, name="bench-status", version=__version__))
        status = ask(connection, protocol.Status(id=2))
    if not isinstance(status, protocol.StatusIs):
        raise RuntimeError(f"no status but {status}")
    for found in status.topics:
        if found.topic == topic:
            return {
                "inside_p50_us": found.delay_p50_ns / 1e3,
                "inside_p99_us": found.delay_p99_ns / 1e3,
                "inside_max_us": found.delay_max_ns / 1e3,
            }
    raise RuntimeError(f"the broker knows no topic {topic}")


def ask(connection: socket.socket, request: protocol.Request) -> protocol.AnyAnswer:
    """Send a request and wait for its answer."""
    connection.sendall(_core.encode_control(protocol.encode(request)))
    decoder = _core.FrameDecoder()
    while True:
        decoder.feed(connection.recv(65536))
        for frame in decoder:
            if isinstance(frame, _core.Control):
                reply = protocol.decode_reply(frame.body)
                if isinstance(reply, protocol.Answer) and reply.id == request.id:
                    return reply
