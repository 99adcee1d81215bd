"""What happened on a broker between two looks at it: the rows that `giusto top` shows."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from msgspec.structs import asdict as asdict_of

from giusto.contract import show_ns
from giusto.protocol import ClientStatus, StatusIs, TopicStatus

CAME = "ingested"
# The counters of a topic that count no loss; every other one is the reason of one.
NO_LOSS = frozenset({CAME, "selected", "unmatched", "delivered", "late"})


@dataclass(frozen=True, slots=True)
class TopicRow:
    """A topic: messages per second since the last look, delays since the broker started."""

    topic: str
    publishers: int
    subscribers: int
    rate_hz: float
    p50_ns: int
    p99_ns: int
    max_ns: int
    bound_ns: int | None
    promise_ns: int | None
    dropped: dict[str, int]


@dataclass(frozen=True, slots=True)
class ClientRow:
    """A client and θ, its part of what the input stage served since the last look.

    `share` is the least θ that its guarded flows are sure of.
    """

    client: str
    address: str
    rate_hz: float
    theta: float
    waiting: int
    dropped: dict[str, int]
    share: float | None = None


@dataclass(frozen=True, slots=True)
class Activity:
    """One look at a broker, compared with the one before.

    `lost` are messages by reason since the start, also of topics that are gone; `refused` is what was turned
    away before it was a message; `models` is what became of the newest models of what was measured;
    `unkept` is what retained patterns miss.
    """

    run: str
    uptime_ns: int
    input: str
    output: str
    lost: dict[str, int]
    refused: dict[str, int]
    topics: list[TopicRow]
    clients: list[ClientRow]
    models: list[dict[str, Any]]
    unkept: dict[str, dict[str, int]]

    @property
    def apart(self) -> dict[str, dict[str, int]]:
        """What went wrong on the broker as a whole, if anything did."""
        counts = {"lost since the start": self.lost, "refused": self.refused}
        counts |= {f"not kept of {pattern}": lost for pattern, lost in self.unkept.items()}
        return {what: count for what, count in counts.items() if count}


def activity(now: StatusIs, before: StatusIs | None = None) -> Activity:
    """Rates since `before`; since the broker started if there is none, or if it was another run of it."""
    if before is not None and before.run != now.run:
        before = None
    seconds = (now.uptime_ns - (0 if before is None else before.uptime_ns)) / 1e9
    old_topics = {} if before is None else {one.topic: one for one in before.topics}
    # Numbers are used again, by another client or by the same one when it comes back.
    old_clients = {} if before is None else {(one.client, one.name): one for one in before.clients}
    topics = [topic_row(one, old_topics.get(one.topic), seconds) for one in now.topics]
    served = {one.client: served_since(one, old_clients.get((one.client, one.name))) for one in now.clients}
    total = sum(served.values())
    clients = [client_row(one, served[one.client], total, seconds) for one in now.clients]
    topics.sort(key=lambda row: (-row.rate_hz, row.topic))
    clients.sort(key=lambda row: (-row.theta, row.client))
    refused = {what: count for what, count in now.refused.items() if count}
    lost = losses(now.totals)
    models = [asdict_of(one) for one in now.models]
    of_broker = (now.run, now.uptime_ns, now.input, now.output)
    return Activity(*of_broker, lost, refused, topics, clients, models, now.unkept)


def topic_row(now: TopicStatus, before: TopicStatus | None, seconds: float) -> TopicRow:
    """One topic; what came in counts, whether or not anybody wanted it."""
    came = since(now.counters.get(CAME, 0), 0 if before is None else before.counters.get(CAME, 0))
    return TopicRow(
        topic=now.topic,
        publishers=now.publishers,
        subscribers=now.subscribers,
        rate_hz=per_second(came, seconds),
        p50_ns=now.delay_p50_ns,
        p99_ns=now.delay_p99_ns,
        max_ns=now.delay_max_ns,
        bound_ns=now.bound_ns,
        promise_ns=now.promise_ns,
        dropped=losses(now.counters),
    )


def client_row(now: ClientStatus, served: int, total: int, seconds: float) -> ClientRow:
    """One client among those that were served `total` messages."""
    theta = served / total if total else 0.0
    dropped = {reason: count for reason, count in now.dropped.items() if count}
    rate_hz = per_second(served, seconds)
    return ClientRow(now.name, now.address, rate_hz, theta, now.waiting, dropped, now.share)


def served_since(now: ClientStatus, before: ClientStatus | None) -> int:
    """Messages of a client that were served since the last look."""
    return since(now.served, 0 if before is None else before.served)


def since(now: int, before: int) -> int:
    """What a counter counted since the last look; one that went down began anew in between."""
    return now - before if now >= before else now


def per_second(count: int, seconds: float) -> float:
    """A rate; 0 in no time."""
    return count / seconds if seconds > 0 else 0.0


def losses(counters: dict[str, int]) -> dict[str, int]:
    """The reasons for which messages were not delivered, with how many."""
    return {reason: count for reason, count in counters.items() if count and reason not in NO_LOSS}


def as_fields(seen: Activity) -> dict[str, Any]:
    """The same for `--json`."""
    return asdict(seen)


def topic_cells(row: TopicRow) -> list[str]:
    """The cells of a topic's row, for people."""
    promised = ["–" if each is None else show_ns(each) for each in (row.bound_ns, row.promise_ns)]
    # Nothing takes no time at all: 0 is a topic of which nothing was delivered.
    times = [show_ns(delay_ns) if row.max_ns else "–" for delay_ns in (row.p50_ns, row.p99_ns, row.max_ns)]
    parties = f"{row.publishers}→{row.subscribers}"
    return [row.topic, parties, show_rate(row.rate_hz), *times, *promised, show_losses(row.dropped)]


def client_cells(row: ClientRow) -> list[str]:
    """The cells of a client's row, for people."""
    theta = f"{100 * row.theta:.1f} %"
    sure = "–" if row.share is None else f"{100 * row.share:.1f} %"
    return [row.client, show_rate(row.rate_hz), theta, sure, str(row.waiting), show_losses(row.dropped)]


def model_lines(seen: Activity, most: int = 5) -> list[str]:
    """The newest models that changed something, or would have."""
    news = [one for one in seen.models if one["decision"] != "kept"]
    return [f"{one['subject']}: {one['decision']}, {one['reason']}" for one in news[-most:]]


def show_rate(rate_hz: float) -> str:
    """Messages per second in few digits."""
    return f"{rate_hz:,.0f}/s" if rate_hz >= 10 or rate_hz == 0 else f"{rate_hz:.1f}/s"


def show_losses(dropped: dict[str, int]) -> str:
    """Losses by reason; a dash if there are none."""
    return ", ".join(f"{count:,} {reason}" for reason, count in sorted(dropped.items())) or "–"
