"""Section VII: who publishes what in which second, who sends when, and how messages reach the broker.

The paper does not print its memberships, but Table I says what they weigh: its five shares are 50, 32, 14,
41 and 23 of 165. Windows of five topics, three topics apart, give six clients 50, 41, 32, 23, 14 and 5,
together 165; other topics of the same weights would do as well.
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import NamedTuple

from giusto import sim

S, MS = 1_000_000_000, 1_000_000
WEIGHTS = (10,) * 5 + (7,) * 5 + (4,) * 5 + (1,) * 5
CLIENTS = 6
# Those of client 1 follow each other as in Table I; that the others go round in the same way is our choice.
WINDOWS = (0, 2, 4, 1, 3, 5)
SECONDS = 5
RELAY_NS, SEARCH_NS = 51_200, 1_000
FRAME_BYTES, BITS_PER_S = 64, 10_000_000
INTERVAL_NS = 1 * MS
MEDIA: dict[str, sim.Medium] = {
    "switched": sim.Switched(name="wire"),
    "can": sim.Can(name="wire"),
    "ethernet": sim.Ethernet(name="wire"),
}


def window(client: int, second: int) -> int:
    """Which window of topics a client has."""
    return WINDOWS[(client + second) % CLIENTS]


def topics_of(client: int, second: int) -> range:
    """The topics that a client publishes in a second."""
    first = 3 * window(client, second)
    return range(first, first + 5)


def matrix_in(second: int) -> list[list[int]]:
    """MatrixIN of a second: a row for each client."""
    rows = [topics_of(client, second) for client in range(CLIENTS)]
    return [[int(topic in row) for topic in range(len(WEIGHTS))] for row in rows]


class Message(NamedTuple):
    """Sent by a client on a topic; `arrived_ns` is when all of it is at the broker."""

    arrived_ns: int
    client: int
    topic: int
    sent_ns: int

    @property
    def second(self) -> int:
        """The second in which it was sent."""
        return self.sent_ns // S


def sending(seed: int, *, each: bool = False) -> list[Message]:
    """Messages at intervals of 0 to 1 ms: of the whole system, or of `each` client; topics at random."""
    rng = Random(seed)
    senders = [[client] for client in range(CLIENTS)] if each else [list(range(CLIENTS))]
    sent = [message for clients in senders for message in _from(rng, clients)]
    return sorted(sent)


def _from(rng: Random, clients: list[int]) -> Iterable[Message]:
    now_ns = rng.randint(0, INTERVAL_NS)
    while now_ns < SECONDS * S:
        client = rng.choice(clients)
        yield Message(now_ns, client, rng.choice(topics_of(client, now_ns // S)), now_ns)
        now_ns += rng.randint(0, INTERVAL_NS)


def carried(messages: Iterable[Message], medium: str) -> list[Message]:
    """The messages as they arrive at the broker over a medium, and so without what it lost."""
    run = sim.run(network(messages, medium, sim.Broker(name="broker")))
    return sorted(Message(received_ns, *flow, sent_ns) for flow, sent_ns, _, received_ns in deliveries(run))


def network(messages: Iterable[Message], medium: str, broker: sim.Broker) -> sim.Scenario:
    """Six clients, each with a link to the broker on one medium; somebody at the broker gets everything."""
    times_ns: dict[tuple[int, int], list[int]] = {}
    for message in messages:
        times_ns.setdefault((message.client, message.topic), []).append(message.sent_ns)
    clients = [sim.Broker(name=f"client{n}") for n in range(CLIENTS)]
    wire = sim.Bandwidth(bits_per_s=BITS_PER_S, least_bytes=FRAME_BYTES)
    return sim.Scenario(
        name="twrr",
        until=f"{SECONDS}s",
        brokers=[broker, *clients],
        topics=[
            sim.Topic(name=f"topic{n:02}", weight=weight, service_ns=RELAY_NS)
            for n, weight in enumerate(WEIGHTS)
        ],
        media=[MEDIA[medium]],
        links=[sim.Link(source=each.name, target=broker.name, delay=wire, medium="wire") for each in clients],
        publishers=[
            sim.Publisher(
                name=f"{client}/{topic}",
                broker=f"client{client}",
                topic=f"topic{topic:02}",
                workload=sim.Trace(at_ns=at_ns),
                size_bytes=FRAME_BYTES,
            )
            for (client, topic), at_ns in sorted(times_ns.items())
        ],
        subscribers=[sim.Subscriber(name="all", broker=broker.name, pattern="#")],
    )


def deliveries(run: sim.Run) -> Iterable[tuple[tuple[int, int], int, int, int]]:
    """((client, topic), sent, at the broker, forwarded) of what the broker forwarded, in ns."""
    columns = ("publisher", "t_sent_ns", "t_ingress_ns", "t_received_ns")
    for row in run.records.select(columns).to_pylist():
        if row["t_received_ns"] is not None:
            client, topic = row["publisher"].split("/")
            yield (int(client), int(topic)), *(row[name] for name in columns[1:])
