"""Which promise a book does not hold, and how to say so."""

from __future__ import annotations

from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING

from giusto.contract.offer import SIZE_BYTES_DEFAULT
from giusto.errors import milliseconds, rate_text
from giusto.guarantee.blocking import Delay
from giusto.guarantee.model import Change, Demand, Objection
from giusto.guarantee.shelf import Breach

if TYPE_CHECKING:
    from giusto.guarantee.book import Book

NOBODY = Breach("", "")
LATENCY = attrgetter("max_latency_ns")


class Case:
    """A book that has just been changed, and the change."""

    def __init__(self, book: Book, change: Change) -> None:
        self.book = book
        self.change = change

    def objection(self) -> Objection | None:
        """None if every promise holds."""
        if self.book.promises == 0:
            return None
        crowded = self.book.crowded_link()
        if crowded is not None:
            return self.overload(NOBODY, crowded)
        delay = self.book.load.delay(self.book.rest)
        if delay is None:
            return self.overload(NOBODY, "reading what is offered takes all of the time")
        over = self.book.stage.overloaded(delay)
        if over is not None:
            return self.overload(over, f"more is offered on {over.topic} than it is sure to be served")
        return self.unread(delay) or self.late(self.common(delay))

    def common(self, delay: Delay) -> Delay:
        """What everybody waits for; every connection is read to the end."""
        return self.book.common(delay) or delay if self.book.stage.is_common else delay

    def unread(self, delay: Delay) -> Objection | None:
        """A publisher that is not read in time, so that it would be policed though it keeps its offer."""
        worst_ns = delay.unread_ns
        for client, reader in self.book.slow(delay):
            turns = reader.more_turns(delay.turn_ns)
            if turns is None:
                return self.unreadable(client)
            worst_ns = max(worst_ns, delay.slower(turns).unread_ns)
        worst_ns += self.book.longest_way_ns()
        tolerance_ns = self.book.setting.tolerance_ns
        if not 0 < tolerance_ns < worst_ns or not self.book.load.quanta:
            return None
        sentence = (
            f"a message may wait {milliseconds(worst_ns)} before it is read, more than the tolerance of "
            f"{milliseconds(tolerance_ns)}: raise guarantee.tolerance"
        )
        return self.made("tolerance", NOBODY, worst_ns, sentence)

    def unreadable(self, client: str) -> Objection:
        """A connection that brings more than is read of it; its largest flow is to blame."""
        records = (self.book.records[topic] for topic in sorted(self.book.flows[client]))
        largest = max((record.streams[client] for record in records), key=lambda stream: stream.byte_rate)
        supply = largest.supply
        unset = " (max_size is not set)" if supply.size_bytes == SIZE_BYTES_DEFAULT else ""
        sentence = (
            f"client {client!r} offers {supply.size_bytes:,} bytes on {supply.topic} at "
            f"{rate_text(supply.count, supply.period_ns)}{unset}, more than is read of it in a turn, "
            "so that no bound exists: offer a smaller max_size, burst or rate"
        )
        return self.made("overload", Breach(client, ""), None, sentence)

    def late(self, delay: Delay) -> Objection | None:
        """A promise that is shorter than the bound."""
        found = self.book.stage.late(delay) or self.late_because_slow(delay)
        if found is None:
            return None
        bound = self.book.bound(*found) if found.client else self.book.worst([found.topic])
        bound_ns = None if bound is None else bound.total_ns
        if self.is_over(found.topic, bound_ns):
            return self.late_for_the_past(found, bound_ns)
        broken = self.broken(found.topic, bound_ns)
        asked_for = broken in self.change.wishes
        got = "no bound" if bound_ns is None else f"at most {milliseconds(bound_ns)}"
        flow = f"{found.topic} from {found.client!r}" if found.client else found.topic
        asked = milliseconds(broken.max_latency_ns)
        if asked_for:
            sentence = f"{flow}: {asked} cannot be promised, it would take {got}"
        else:
            whose = f"promised to {broken.client!r}" + (f" by {broken.pattern}" if broken.pattern else "")
            sentence = f"{flow}: {asked}, {whose}, would not hold, it would take {got}"
        made = self.made("latency", found, bound_ns, sentence)
        own = asked_for if self.change.wishes else made.own
        parts = () if bound is None else bound.parts
        return replace(made, asked_ns=broken.max_latency_ns, own=own, parts=parts)

    def is_over(self, topic: str, bound_ns: int | None) -> bool:
        """Whether the promise that breaks has ended: where links have a bandwidth it counts for a while."""
        least_ns = min(
            (one.max_latency_ns for one in self.book.records[topic].demands.values()), default=None
        )
        if least_ns is None or bound_ns is None or not self.book.links.is_limited:
            return least_ns is None
        return least_ns >= bound_ns

    def late_for_the_past(self, found: Breach, bound_ns: int | None) -> Objection:
        """Messages of a promise that has ended are still counted with on links."""
        asked_ns = self.book.records[found.topic].promise_ns or 0
        reason = f"{milliseconds(asked_ns)} was promised, and is kept to until nothing of it is on its way"
        return self.made("latency", found, bound_ns, f"{found.topic}: {reason}")

    def broken(self, topic: str, bound_ns: int | None) -> Demand:
        """The promise that breaks: the shortest of others, which no other wish would mend, else the own.

        Where a bound depends on what is promised it is the shortest of all.
        """
        demands = self.book.records[topic].demands
        asked = {(one.key, one.client) for one in self.change.wishes}
        others = [one for key, one in demands.items() if key not in asked]
        own = [demands[key] for key in asked if key in demands]
        if bound_ns is not None and self.book.stage.has_given_shares:
            late = [one for one in others if one.max_latency_ns < bound_ns]
            return min(late or own or others, key=LATENCY)
        return min([*others, *own], key=LATENCY)

    def late_because_slow(self, delay: Delay) -> Breach | None:
        """The flows of connections that take more than one turn to read, one by one."""
        if self.book.stage.is_common:
            return None
        for client, _ in self.book.slow(delay):
            for topic in sorted(self.book.flows[client]):
                record = self.book.records[topic]
                promise_ns = record.promise_ns
                if promise_ns is not None and self.book.bound(client, topic).total_ns > promise_ns:
                    return Breach(client, topic)
        return None

    def overload(self, who: Breach, reason: str) -> Objection:
        """No bound exists."""
        return self.made("overload", who, None, f"{reason}: no bound exists")

    def made(self, why: str, who: Breach, bound_ns: int | None, sentence: str) -> Objection:
        """With whose promise it is."""
        record = self.book.records.get(who.topic)
        return Objection(
            why=why,
            topic=who.topic,
            client=who.client,
            asked_ns=record.promise_ns if record else None,
            bound_ns=bound_ns,
            own=self.is_own(who),
            sentence=sentence,
        )

    def is_own(self, who: Breach) -> bool:
        """Whether the change itself asks for it or offers it."""
        asked = any(demand.topic == who.topic for demand in self.change.demands)
        offered = ((supply.client, supply.topic) for supply in self.change.supplies)
        return asked or any(who in ((client, topic), (client, ""), ("", topic)) for client, topic in offered)
