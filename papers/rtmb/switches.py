"""Switches in virtual time: a broker is a switch, a link a port, a priority a level, an offer a limiter.

A frame is one message. In the small cases a byte takes a microsecond: 1000 bytes are 1 ms on the wire.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from giusto import sim
from giusto.contract import Offer

MS = 1_000_000
SLOW = 8_000_000
"""Bits per second at which 1000 bytes take 1 ms."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sender:
    """Frames of one flow: when all of each is stored in the first switch, how long it is, and its level."""

    name: str
    times_ns: Sequence[int]
    size_bytes: int
    level: int = 0
    path: Sequence[str] = ("s1", "end")
    offer: Offer | None = None


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame that arrived: when it was stored in the first switch, and when it was at its end."""

    stored_ns: int
    received_ns: int
    number: int

    @property
    def delay_ms(self) -> float:
        """From the first switch to the end."""
        return (self.received_ns - self.stored_ns) / MS


@dataclass(frozen=True, slots=True)
class Traffic:
    """What arrived, by flow, and how many frames did not."""

    frames: dict[str, list[Frame]]
    lost: dict[str, int]

    def waits_ms(self, name: str, wire_ms: float) -> list[float]:
        """How long the frames of a flow waited, when they take so long on the wires."""
        return [frame.delay_ms - wire_ms for frame in self.frames[name]]


def send(
    senders: Sequence[Sender],
    *,
    speeds: dict[tuple[str, str], int] | None = None,
) -> Traffic:
    """Everything that the senders send, to where their paths end; `speeds` are those that are not `SLOW`."""
    hops = list(dict.fromkeys(hop for sender in senders for hop in pairwise(sender.path)))
    nodes = list(dict.fromkeys(node for sender in senders for node in sender.path))
    links = [
        sim.Link(
            source=source,
            target=target,
            delay=sim.Bandwidth(bits_per_s=(speeds or {}).get((source, target), SLOW)),
            policy="priority",
            expiry="none",
        )
        for source, target in hops
    ]
    until_ns = max(max(sender.times_ns, default=0) for sender in senders) + 1
    scenario = sim.Scenario(
        name="switches",
        until=f"{until_ns}ns",
        brokers=[sim.Broker(name=node) for node in nodes],
        links=links,
        publishers=[publisher(sender) for sender in senders],
        subscribers=[
            sim.Subscriber(name=sender.name, broker=sender.path[-1], pattern=sender.name)
            for sender in senders
        ],
    )
    return traffic(senders, sim.run(scenario))


def publisher(sender: Sender) -> sim.Publisher:
    return sim.Publisher(
        name=sender.name,
        broker=sender.path[0],
        topic=sender.name,
        workload=sim.Trace(at_ns=sender.times_ns),
        size_bytes=sender.size_bytes,
        priority=sender.level,
        offer=sender.offer,
    )


def traffic(senders: Sequence[Sender], run: sim.Run) -> Traffic:
    frames: dict[str, list[Frame]] = {sender.name: [] for sender in senders}
    columns = ("publisher", "t_sent_ns", "t_received_ns", "sequence")
    for row in run.records.select(columns).to_pylist():
        if row["t_received_ns"] is not None:
            found = Frame(row["t_sent_ns"], row["t_received_ns"], row["sequence"])
            frames[row["publisher"]].append(found)
    lost = {sender.name: len(sender.times_ns) - len(frames[sender.name]) for sender in senders}
    return Traffic(frames, lost)


def units(*values: float) -> list[int]:
    """Instants in ms as ns."""
    return [round(value * MS) for value in values]
