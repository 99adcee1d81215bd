"""What all flows together do to the data thread: reading, the longest quantum, and who is read slowly."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator

from giusto.guarantee.blocking import PROBATION_NS, Delay, Reader, delay, flood_ns, others_ns
from giusto.guarantee.fixed import parts
from giusto.guarantee.model import Rest, Setting
from giusto.guarantee.record import Record
from giusto.guarantee.stream import Stream


class Load:
    """Sums over all flows, guarded or not; the quanta of guarded ones only."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.burst_ns = 0
        self.reading = 0
        self.serving = 0
        self.quanta: list[int] = []
        self.readers: dict[str, Reader] = {}
        self.patience: list[tuple[int, str]] = []

    def put(self, record: Record, stream: Stream) -> None:
        """One flow more."""
        self.count(record, stream, 1)
        if record.is_guarded:
            insort(self.quanta, stream.serve_ns)

    def drop(self, record: Record, stream: Stream) -> None:
        """One flow less."""
        self.count(record, stream, -1)
        if record.is_guarded:
            del self.quanta[bisect_left(self.quanta, stream.serve_ns)]

    def exchange(self, record: Record, before: Stream, after: Stream) -> None:
        """A flow of a client in the place of another; for other subscribers it is read as before."""
        if not is_read_alike(before, after):
            self.drop(record, before)
            self.put(record, after)
        elif record.is_guarded:
            self.serving += after.serve_load - before.serve_load
            del self.quanta[bisect_left(self.quanta, before.serve_ns)]
            insort(self.quanta, after.serve_ns)

    def count(self, record: Record, stream: Stream, sign: int) -> None:
        """Its part of the sums."""
        self.serving += sign * stream.serve_load if record.is_guarded else 0
        self.burst_ns += sign * stream.take_burst_ns
        self.reading += sign * stream.take_load
        client = stream.supply.client
        before = self.readers.pop(client, None)
        after = (before or Reader()).plus(stream, sign)
        if before is not None:
            self.connect(client, before, -1)
        if after.rate:
            self.readers[client] = after
            self.connect(client, after, 1)

    def connect(self, client: str, reader: Reader, sign: int) -> None:
        """A connection as such: once in a while it may bring a portion of what it must not send.

        What it may send beside its messages comes as often; twice at once, at the end of a time and the start
        of the next one.
        """
        costs, portion_bytes = self.setting.costs, reader.portion_bytes
        flood, others = flood_ns(costs, portion_bytes), others_ns(costs, portion_bytes)
        self.burst_ns += sign * (flood + 2 * others)
        self.reading += sign * parts(flood + others, PROBATION_NS)
        entry = (reader.patience_ns, client)
        if sign > 0:
            insort(self.patience, entry)
        else:
            del self.patience[bisect_left(self.patience, entry)]

    @property
    def longest_ns(self) -> int:
        """s_max."""
        return self.quanta[-1] if self.quanta else 0

    def delay(self, rest: Rest) -> Delay | None:
        """What every message waits for now; None if reading alone takes all of the time."""
        return delay(self.setting, rest, self.longest_ns, self.burst_ns, self.reading)

    def slow(self, delay: Delay) -> Iterator[tuple[str, Reader]]:
        """The connections that one portion in a turn is not enough for."""
        for patience_ns, client in self.patience:
            if patience_ns >= delay.turn_ns:
                return
            yield client, self.readers[client]


def is_read_alike(one: Stream, other: Stream) -> bool:
    """Whether two flows are the same to who reads them."""
    same = one.supply == other.supply and one.take_ns == other.take_ns
    return same and one.passed == other.passed
