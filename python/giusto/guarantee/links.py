"""How long a message may take on the link of a client, behind all else that goes there: (N1) with one level.

A link carries b and then at most Σσ + t·ΣU in a time t, first come first served. As long as ΣU <= 1 a message
is through at most b + Σσ after it came, its own time included. Towards the broker a client sends its flows,
as they are policed, and acknowledges what it gets. Towards a client go the guarded topics that it receives,
and the credits of its own flows. They have been in the broker for at most as long as was promised: that is
their jitter; but few credits wait, however long messages do. Before them may lie what the rest has put into
the client's socket: the broker keeps it short. A promise that ends was their jitter too: it is kept to until
its topic is guarded no longer, so that nobody's bound grows because somebody has gone.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TypeVar

from giusto.guarantee.blocking import OTHER_BYTES_MIN, OTHERS_BYTES_MAX, PROBATION_NS
from giusto.guarantee.fixed import ONE, ceil_div, parts
from giusto.guarantee.model import LinkTerms, Setting
from giusto.guarantee.record import Record
from giusto.guarantee.stream import CREDIT_BYTES, Stream

SEGMENT_BYTES = 1_428
SEGMENT_OVERHEAD_BYTES = 110
"""TCP with time stamps over IPv6 in Ethernet frames of 1,500 bytes, with preamble and gap."""
SOCKET_BYTES = 262_144
"""What the kernel keeps in a socket whose send buffer is SEND_BUFFER_BYTES: it takes twice of that."""
ROOM_BYTES = 131_072
"""Of that what small messages leave at least."""
UNPROMISED_NS = 10_000_000_000
"""For how long messages may be in the broker of a guarded topic on which nothing was ever promised."""
CREDITS_WAITING = 8
"""Frames of credits for what waited: each stands for a quarter of a queue, or for one message of seven."""
LONGEST_NS = 10 * 365 * 86_400 * 1_000_000_000
"""The time on a link that carries less than it is given."""


def segments(size_bytes: int) -> int:
    """How many a frame of the bus is cut into."""
    return max(1, ceil_div(size_bytes, SEGMENT_BYTES))


def wire_bytes(size_bytes: int) -> int:
    """A frame of the bus on the wire."""
    return size_bytes + segments(size_bytes) * SEGMENT_OVERHEAD_BYTES


def answer_bytes(size_bytes: int) -> int:
    """What acknowledges it."""
    return segments(size_bytes) * SEGMENT_OVERHEAD_BYTES


OTHERS_WIRE_BYTES = OTHERS_BYTES_MAX // OTHER_BYTES_MIN * wire_bytes(OTHER_BYTES_MIN)
"""What a client may send beside its messages in 100 ms."""


class Carried:
    """What one link carries: Σσ in bytes and ΣU in bytes per ns, both in parts of ONE."""

    def __init__(self) -> None:
        self.burst = 0
        self.rate = 0

    def add(self, stream: Stream, size_bytes: int, jitter_ns: int, sign: int) -> None:
        """So many bytes for each message of a flow that has been on its way for up to `jitter_ns`."""
        supply = stream.supply
        passed = stream.passed + jitter_ns * supply.count
        self.burst += sign * parts(passed * size_bytes, supply.period_ns)
        self.rate += sign * parts(supply.count * size_bytes, supply.period_ns)

    def through_ns(self, link: LinkTerms, before_bytes: int, beside_rate: int = 0) -> int:
        """b + Σσ on this link, and its delay; `LONGEST_NS` if it carries less than comes."""
        if link.bits_per_second == 0:
            return link.delay_ns
        if (self.rate + beside_rate) * 8_000_000_000 > link.bits_per_second * ONE:
            return LONGEST_NS
        bits = (self.burst + before_bytes * ONE) * 8
        return link.delay_ns + ceil_div(bits * 1_000_000_000, link.bits_per_second * ONE)


def rounded(ns: int) -> int:
    """A little longer, by a part in 128 at most: most changes move no time, and no topic with it."""
    step_ns = 1 << max(0, ns.bit_length() - 8)
    return ceil_div(ns, step_ns) * step_ns


NOTHING = Carried()
"""On the links of who has to do with no topic."""


class Links:
    """What goes over the links of all clients, in and out; nothing is kept if all are as fast as memory.

    `times` are those of each client, in and out. `ways` are those in of publishers, in order; `promised` is
    who publishes (True) or receives (False) something that was promised. `overfull` says what is wrong with
    a link that something was promised over. All that is brought up to date for who has to do with a change.
    """

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.is_limited = is_limited(setting)
        self.into: dict[str, Carried] = {}
        self.out: dict[str, Carried] = {}
        self.topics: dict[str, set[str]] = {}
        self.times: dict[str, tuple[int, int]] = {}
        self.ways: list[tuple[int, str]] = []
        self.publishing: Counter[str] = Counter()
        self.promised: Counter[tuple[str, bool]] = Counter()
        self.overfull: dict[str, str] = {}

    def settled(self, records: Mapping[str, Record], after: Mapping[str, Record]) -> Mapping[str, Record]:
        """Records that take the place of others, with their links, and all whose links change with them."""
        if not self.is_limited:
            return after
        touched: set[str] = set()
        for name, record in after.items():
            before = records.get(name) or Record(name)
            self.count(before, -1)
            self.count(record, 1)
            touched.update(parties(before), parties(record))
        self.forget(touched)
        moved = [client for client in touched if self.is_moved(client)]
        names = dict.fromkeys([*after, *sorted(set().union(*(self.topics.get(one, ()) for one in moved)))])
        return {name: self.linked(after.get(name) or records[name]) for name in names}

    def count(self, record: Record, sign: int) -> None:
        """What a topic brings to the links of all who have to do with it."""
        jitter_ns = UNPROMISED_NS if record.promise_ns is None else record.promise_ns
        for client, stream in record.streams.items():
            frame_bytes = stream.frame_bytes
            credit_bytes = answer_bytes(frame_bytes) + wire_bytes(CREDIT_BYTES)
            into, out = self.of(client)
            into.add(stream, wire_bytes(frame_bytes) + answer_bytes(CREDIT_BYTES), 0, sign)
            out.add(stream, credit_bytes, min(jitter_ns, credits_ns(stream)), sign)
            for receiver in receivers(record):
                into, out = self.of(receiver)
                out.add(stream, wire_bytes(frame_bytes), jitter_ns, sign)
                into.add(stream, answer_bytes(frame_bytes), jitter_ns, sign)
        for client in parties(record):
            known = self.topics.setdefault(client, set())
            known.add(record.name) if sign > 0 else known.discard(record.name)
        self.count_promised(record, sign)

    def count_promised(self, record: Record, sign: int) -> None:
        """Who publishes, and what was promised to and of whom."""
        for client in record.streams:
            count(self.publishing, client, sign)
            if record.demands:
                count(self.promised, (client, True), sign)
        for demand in record.demands.values():
            count(self.promised, (demand.client, False), sign)

    def is_moved(self, client: str) -> bool:
        """Bring up to date what follows from what a client's links carry; whether its times are others."""
        before, after = self.times.pop(client, None), self.times_of(client)
        if client in self.topics:
            self.times[client] = after
        place = bisect_left(self.ways, (before[0], client)) if before else len(self.ways)
        if before and self.ways[place : place + 1] == [(before[0], client)]:
            del self.ways[place]
        if client in self.publishing:
            insort(self.ways, (after[0], client))
        self.overfull.pop(client, None)
        wrong = self.wrong(client, *after)
        if wrong is not None:
            self.overfull[client] = wrong
        return before != after

    def of(self, client: str) -> tuple[Carried, Carried]:
        """Both links of a client, to be counted on."""
        return self.into.setdefault(client, Carried()), self.out.setdefault(client, Carried())

    def forget(self, clients: Iterable[str]) -> None:
        """Nothing is kept of those that have to do with no topic any more."""
        for client in clients:
            if not self.topics[client]:
                del self.topics[client]
                self.into.pop(client, None)
                self.out.pop(client, None)

    def linked(self, record: Record) -> Record:
        """A record whose streams have the times on their links; the same one if nothing is different."""
        out_ns = max((self.times[one.client][1] for one in record.demands.values()), default=None)
        if out_ns is None:
            out_ns = self.setting.link_out.delay_ns
        streams = {
            client: with_links(stream, (self.times[client][0], out_ns))
            for client, stream in record.streams.items()
        }
        if all(streams[client] is stream for client, stream in record.streams.items()):
            return record
        return record.with_streams(streams)

    def times_of(self, client: str) -> tuple[int, int]:
        """From a publisher to the broker; from there to a subscriber, behind all that its socket may hold."""
        into, out = self.into.get(client, NOTHING), self.out.get(client, NOTHING)
        link_in, link_out = self.setting.link_in, self.setting.link_out
        rate = parts(OTHERS_WIRE_BYTES, PROBATION_NS)
        into_ns = into.through_ns(link_in, 2 * OTHERS_WIRE_BYTES, rate)
        out_ns = out.through_ns(link_out, wire_bytes(SOCKET_BYTES))
        return (
            rounded(into_ns) if link_in.bits_per_second else into_ns,
            rounded(out_ns) if link_out.bits_per_second else out_ns,
        )

    def wrong(self, client: str, into_ns: int, out_ns: int) -> str | None:
        """Why no bound exists for what was promised over the links of a client, in words."""
        if into_ns >= LONGEST_NS and (client, True) in self.promised:
            return f"{client} offers more than guarantee.link_bandwidth_in carries"
        if (client, False) not in self.promised:
            return None
        if out_ns >= LONGEST_NS:
            return f"{client} is to receive more than guarantee.link_bandwidth_out carries"
        if self.is_crowded(client):
            return f"more may come at once for {client} than its socket is sure to hold"
        return None

    @property
    def overloaded(self) -> str | None:
        """What is wrong with some link, if anything is."""
        return self.overfull[min(self.overfull)] if self.overfull else None

    @property
    def longest_way_ns(self) -> int:
        """From any publisher to the broker."""
        return self.ways[-1][0] if self.ways else 0

    def is_crowded(self, client: str) -> bool:
        """Whether a socket may be full though its client reads."""
        is_slow = self.setting.link_out.bits_per_second > 0
        return is_slow and self.out.get(client, NOTHING).burst > ROOM_BYTES * ONE


Key = TypeVar("Key")


def count(counts: Counter[Key], key: Key, sign: int) -> None:
    """One more or one less; what there is none of is not kept."""
    counts[key] += sign
    if not counts[key]:
        del counts[key]


def is_limited(setting: Setting) -> bool:
    """Whether any link has a bandwidth."""
    return setting.link_in.bits_per_second > 0 or setting.link_out.bits_per_second > 0


def credits_ns(stream: Stream) -> int:
    """The jitter of as many messages as credits may have waited for, however long they did."""
    return ceil_div(CREDITS_WAITING * stream.supply.period_ns, stream.supply.count)


def with_links(stream: Stream, links: tuple[int, int]) -> Stream:
    """A stream with these times; the same one if it has them."""
    return stream if stream.links == links else replace(stream, links=links)


def receivers(record: Record) -> set[str]:
    """Who gets the messages of a guarded topic."""
    known = record.allotted.receivers if record.allotted else frozenset[str]()
    return {*known, *(demand.client for demand in record.demands.values())}


def parties(record: Record) -> Iterator[str]:
    """Whoever publishes on a topic or gets its messages."""
    yield from record.streams
    yield from receivers(record)
