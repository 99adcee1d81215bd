"""Every message ends exactly once for every subscription that it matched, and its record says how.

All input and output policies, small queues, every overflow and expiry mode, timeouts, deadlines,
filters, priorities, fragments, offers that are broken, and subscribers that go away.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field

import pyarrow
import pytest

from giusto import _core
from giusto.errors import Policed, QueueFull, TooLarge
from seeds import seeds

Key = tuple[str, str, int]  # topic, publisher, sequence


@dataclass
class Bus:
    """An engine, and what should become of each message that it was given."""

    engine: _core.Engine
    rng: random.Random
    now_ns: int = 0
    flows: dict[int, tuple[str, str]] = field(default_factory=dict)  # topic, publisher
    readers: dict[int, str] = field(default_factory=dict)
    subscriptions: list[tuple[int, str, int]] = field(default_factory=list)  # client, pattern, least level
    sequence: int = 0
    refused: dict[Key, str] = field(default_factory=dict)
    matched: dict[Key, Counter[str]] = field(default_factory=dict)

    def publish(self) -> None:
        flow = self.rng.choice(list(self.flows))
        topic, publisher = self.flows[flow]
        key = (topic, publisher, self.sequence)
        level = self.rng.randint(0, 3)
        options = {"priority": self.rng.choice([0, 0, 7]), "timeout_ns": self.rng.choice([0, 0, 5, 200])}
        payload = bytes(self.rng.choice([0, 10, 300, 600]))
        try:
            self.engine.publish(
                self.now_ns, flow, payload, sequence=self.sequence, attributes={"level": level}, **options
            )
            covered = [s for s in self.subscriptions if _core.topic_matches(s[1], topic) and level >= s[2]]
            self.matched[key] = Counter(self.readers[client] for client, _, _ in covered)
        except Policed:
            self.refused[key] = "policed"
        except (QueueFull, TooLarge):
            self.refused[key] = "overflow"
        self.sequence += 1

    def wait(self) -> None:
        self.now_ns += self.rng.choice([1, 10, 100])

    def step(self) -> None:
        self.engine.step(self.now_ns)

    def take(self) -> None:
        if self.readers:
            self.engine.take(self.now_ns, self.rng.choice(list(self.readers)))

    def leave(self) -> None:
        """A subscriber goes away; nothing may wait for the input stage then, or its matches would change."""
        while self.engine.step(self.now_ns) is not None:
            pass
        if len(self.readers) > 1:
            client = self.rng.choice(list(self.readers))
            self.engine.disconnect(client)
            del self.readers[client]
            self.subscriptions = [entry for entry in self.subscriptions if entry[0] != client]

    def finish(self) -> None:
        """Everybody goes, some after reading what waits for them."""
        while self.engine.step(self.now_ns) is not None:
            pass
        for client in self.readers:
            reads = self.rng.random() < 0.5
            while reads and self.engine.take(self.now_ns, client) is not None:
                pass
            self.engine.disconnect(client)


def make_bus(seed: int, policy: str) -> Bus:
    rng = random.Random(seed)
    engine = _core.Engine(
        input=policy,
        output=rng.choice(_core.output_policies()),
        overflow=rng.choice(["drop_oldest", "drop_new", "disconnect"]),
        expiry=rng.choice([None, "none", "dead", "eps"]),
        output_capacity=rng.choice([1, 3, 1_000]),
        fragment_bytes=rng.choice([64, 65_536]),
        record_capacity=100_000,
    )
    bus = Bus(engine, rng)
    topics = {name: engine.declare(name, _core.Share(weight=rng.randint(1, 4))) for name in ("a", "a/b", "c")}
    for publisher in ("p", "q"):
        client = engine.connect(publisher)
        for name in rng.sample(sorted(topics), rng.randint(1, 3)):
            offer = rng.choice([{}, {"min_sep_ns": 20, "burst": 3}, {"capacity": 2, "max_size_bytes": 400}])
            bus.flows[engine.advertise(client, topics[name], **offer)] = (name, publisher)
    for number in range(rng.randint(1, 4)):
        client = engine.connect(f"reader {number}")
        bus.readers[client] = f"reader {number}"
        for _ in range(rng.randint(1, 3)):
            pattern, least = rng.choice(["a", "a/#", "+", "#"]), rng.randint(0, 3)
            need = rng.choice([None, _core.Need(deadline_ns=rng.choice([10, 150]), price=2.0, penalty=0.5)])
            engine.subscribe(client, pattern, filter=f"level >= {least}" if least else None, need=need)
            bus.subscriptions.append((client, pattern, least))
    return bus


@pytest.mark.parametrize("policy", [name for name, _ in _core.input_policies()])
def test_each_message_ends_once_for_each_subscription(policy: str) -> None:
    outcomes: Counter[str] = Counter()
    for seed in seeds(150):
        bus = make_bus(seed, policy)
        actions = [bus.publish] * 6 + [bus.step] * 4 + [bus.take] * 3 + [bus.wait] * 2 + [bus.leave]
        for _ in range(120):
            bus.rng.choices(actions, weights=[10] * (len(actions) - 1) + [1])[0]()
        bus.finish()
        assert bus.engine.stored == 0, f"{seed=}"
        rows = pyarrow.record_batch(bus.engine.drain_records()).to_pylist()
        check_records(bus, rows, f"{seed=}")
        outcomes += Counter(row["outcome"] for row in rows)
    assert set(outcomes) == set(_core.OUTCOMES), f"the workloads never led to all outcomes: {outcomes}"


def check_records(bus: Bus, rows: list[dict[str, object]], note: str) -> None:
    seen: dict[Key, Counter[str | None]] = {}
    how: dict[Key, str] = {}
    for row in rows:
        key = (row["topic"], row["publisher"], row["sequence"])
        seen.setdefault(key, Counter())[row["subscriber"]] += 1  # type: ignore[arg-type, index]
        how[key] = str(row["outcome"])  # type: ignore[index]
    for key, outcome in bus.refused.items():
        assert (seen.pop(key), how[key]) == (Counter({None: 1}), outcome), f"{note} {key=}"
    for key, expected in bus.matched.items():
        found = seen.pop(key, Counter())
        if found == Counter({None: 1}):
            assert how[key] == "expired", f"{note} {key=}"
        else:
            assert found == expected, f"{note} {key=}"
    assert not seen, note
    totals = bus.engine.counters()
    ended = sum(totals[name] for name in ("delivered", "late", "expired_waiting", "dropped", "abandoned"))
    assert ended == sum(1 for row in rows if row["subscriber"] is not None), note
    assert totals["policed"] + totals["overflow"] == len(bus.refused), note
