"""How fast networks are simulated, and how time and memory grow with brokers and subscriptions.

Times are of the processor, so that whatever else the machine does is left out. Each size runs in a process
of its own: its memory is the most that the process ever had.
"""

from __future__ import annotations

import json
import random
import resource
import subprocess
import sys
import time
from itertools import pairwise

from giusto import _core

MS, S = 10**6, 10**9
KB = 1024
# Brokers, subscriptions, brokers with publishers.
SIZES = [(100, 10_000, 100), (1_000, 100_000, 100), (10_000, 100_000, 100), (10_000, 1_000_000, 100)]
TOPICS = 1_000
NAMES = ("a1", "a2", "a3", "a4")
DEADLINES = [(20, 3.0, 0.3), (24, 2.5, 0.25), (30, 2.0, 0.2), (40, 1.5, 0.15), (60, 1.0, 0.1)]


def figure(case: str, value: float, unit: str) -> None:
    """Print one line for `run.py`."""
    print(json.dumps({"bench": "network", "case": case, "value": value, "unit": unit}), flush=True)


def timed(network: _core.Network, until_ns: int) -> tuple[float, _core.NetworkRun]:
    """Seconds of processor time of a run, and the run."""
    start = time.process_time()
    run = network.run(until_ns)
    return time.process_time() - start, run


def chain(links: int, policy: str) -> _core.Network:
    """One publisher at one end, one subscriber at the other."""
    network = _core.Network(records="none")
    brokers = [network.broker(f"b{n}") for n in range(links + 1)]
    topic = network.topic("t")
    for source, target in pairwise(brokers):
        network.link(source, target, delay="constant", delay_ns=1_000, policy=policy, expiry="none")
    network.publisher(brokers[0], topic, "p", period_ns=10_000, phase_ns=0, size_bytes=100)
    network.subscriber(brokers[-1], "s", "t")
    return network


def layered(policy: str, seed: int) -> _core.Network:
    """The experiment of S1 section 3 at rate 1."""
    rng = random.Random(seed)
    network = _core.Network(seed=seed, records="none")
    layers = [
        [network.broker(f"b{layer}.{n}", processing_ns=2 * MS) for n in range(count)]
        for layer, count in enumerate((4, 4, 8, 16, 32, 64))
    ]
    pairs = [(source, target) for source in layers[0] for target in layers[1]]
    for upper, lower in pairwise(layers[1:]):
        pairs += [(source, target) for target in lower for source in rng.sample(upper, 2)]
    for source, target in pairs:
        mean = rng.uniform(40, 80) * MS
        network.link(
            source, target, delay="normal", mean_ns_per_kb=mean, deviation_ns_per_kb=20.0 * MS, policy=policy
        )
    topic = network.topic("events")
    drawn = [(name, 0.0, 10.0) for name in NAMES]
    for n, broker in enumerate(layers[0] * 10):
        network.publisher(
            broker, topic, f"p{n}", period_ns=60 * S, size_bytes=50 * KB, delay_ns=20 * MS, attributes=drawn
        )
    for n, broker in enumerate(layers[-1] * 10):
        deadline_s, price, penalty = rng.choice(DEADLINES)
        network.subscriber(
            broker,
            f"s{n}",
            "events",
            filter=" and ".join(f"{name} < {rng.uniform(0, 10)!r}" for name in NAMES),
            deadline_ns=deadline_s * S,
            price=price,
            penalty=penalty,
            delay_ns=20 * MS,
        )
    return network


def tree(brokers: int, subscriptions: int, sources: int) -> _core.Network:
    """Brokers as a tree with four branches each, linked both ways; each subscription is to one topic."""
    rng = random.Random(1)
    network = _core.Network(records="none")
    for n in range(brokers):
        network.broker(f"b{n}", processing_ns=2 * MS)
    for n in range(1, brokers):
        for source, target in ((n, (n - 1) // 4), ((n - 1) // 4, n)):
            network.link(
                source, target, delay="normal", mean_ns_per_kb=1.0 * MS, deviation_ns_per_kb=0.2 * MS
            )
    topics = [network.topic(f"t/{n}") for n in range(TOPICS)]
    for n, broker in enumerate(rng.sample(range(brokers), sources)):
        network.publisher(broker, topics[n % TOPICS], f"p{n}", period_ns=S, size_bytes=KB)
    for n in range(subscriptions):
        pattern = f"t/{rng.randrange(TOPICS)}"
        network.subscriber(rng.randrange(brokers), f"s{n}", pattern, deadline_ns=60 * S, price=1.0)
    return network


def grow(brokers: int, subscriptions: int, sources: int) -> None:
    """One size, with ten messages of each publisher."""
    start = time.process_time()
    network = tree(brokers, subscriptions, sources)
    built = time.process_time() - start
    prepared, _ = timed(network, 1)
    seconds, run = timed(network, 10 * S)
    memory_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    row = f"{brokers:,} brokers, {subscriptions:,} subscriptions, {sources} brokers that publish"
    figure(f"{row} | described", built, "s")
    figure(f"{row} | prepared", prepared, "s")
    figure(f"{row} | hop events", run.counters["hops"] / max(seconds - prepared, 1e-9) / 1e6, "million/s")
    figure(f"{row} | memory", memory_mb, "MiB")


def main() -> None:
    """Print the figures; with three numbers as arguments, those of one size."""
    if len(sys.argv) == 4:
        brokers, subscriptions, sources = map(int, sys.argv[1:])
        grow(brokers, subscriptions, sources)
        return
    for policy, title in (("fifo", "first come first served"), ("mtep", "mtep")):
        seconds, run = min((timed(chain(100, policy), 500 * MS) for _ in range(3)), key=lambda each: each[0])
        figure(f"chain of 100 links, {title}", run.counters["hops"] / seconds / 1e6, "million/s")
    for policy in ("mtep", "fifo", "priority", "lrt"):
        seconds, _ = min((timed(layered(policy, 1), 7200 * S) for _ in range(3)), key=lambda each: each[0])
        figure(f"128 brokers, 640 subscriptions, {policy}, two hours", seconds, "s")
    for size in SIZES:
        subprocess.run([sys.executable, __file__, *map(str, size)], check=True)


if __name__ == "__main__":
    main()
