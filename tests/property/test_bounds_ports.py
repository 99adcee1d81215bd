"""(N1) and (N2) against an exact simulation of a switch port."""

from __future__ import annotations

import random
from fractions import Fraction

from bounds_simulation import Frame, policed, seeds, worst_waits

from giusto.guarantee import ports
from giusto.guarantee.curve import Arrivals
from giusto.guarantee.ports import Flow

ZERO = Fraction(0)
EPSILON = Fraction(1, 1000)


def random_flow(
    rng: random.Random, load: Fraction, *, trusted: bool = False, link: int | None = None
) -> Flow:
    """A message of a few equal frames."""
    frame, frames = Fraction(rng.randint(1, 8), 4), rng.randint(1, 4)
    wire = frame * frames
    jitter = rng.choice([ZERO, Fraction(rng.randint(0, 40), 4)])
    return Flow(
        wire,
        wire / load,
        jitter_ns=jitter,
        shortest_frame_ns=frame,
        longest_frame_ns=frame,
        trusted=trusted,
        link=link,
    )


def random_port(rng: random.Random, *, trusted: bool = False, links: int = 0) -> tuple[list[Flow], list[int]]:
    count = rng.randint(1, 5)
    total = rng.choice([Fraction(1, 2), Fraction(9, 10), Fraction(1)])
    parts = [rng.randint(1, 6) for _ in range(count)]
    flows = [
        random_flow(
            rng, total * part / sum(parts), trusted=trusted, link=rng.randrange(links) if links else None
        )
        for part in parts
    ]
    return flows, [rng.randint(1, 3) for _ in flows]


def bound(flows: list[Flow], level: list[int], i: int, blocking: Fraction, refined: bool = False) -> Fraction:
    higher = [flow for j, flow in enumerate(flows) if level[j] > level[i]]
    same = [flow for j, flow in enumerate(flows) if level[j] == level[i] and j != i]
    lower = [flow.longest_frame_ns for j, flow in enumerate(flows) if level[j] < level[i]]
    function = ports.refined_queueing if refined else ports.queueing
    return function(flows[i], higher, same, max([blocking, *lower]))


def babbling(flow: Flow, count: int, begin: Fraction) -> list[Fraction]:
    """As much as the limiter lets through, from `begin` on."""
    return policed(flow.burst_ns, flow.load, [flow.longest_frame_ns] * count, begin)


def sporadic(rng: random.Random, flow: Flow, messages: int, begin: Fraction) -> list[Fraction]:
    """Frames of whole messages, each shifted by at most the jitter, in order."""
    frames = int(flow.wire_ns / flow.longest_frame_ns)
    times: list[Fraction] = []
    release = begin
    for n in range(messages):
        # The worst jitter holds the first message back and lets the next ones go at once.
        shift = flow.jitter_ns if n == 0 else rng.choice([ZERO, ZERO, flow.jitter_ns / 2])
        moment = max([release + shift - flow.jitter_ns, *times[-1:]])
        times += [moment] * frames
        release += flow.min_sep_ns + (Fraction(rng.randint(0, 8), 4) if rng.random() < 0.2 else 0)
    return times


def blocked(blocking: Fraction) -> list[Frame]:
    """A best-effort frame just before 0."""
    return [Frame(-EPSILON, 0, blocking, -1)] if blocking else []


def as_frames(flows: list[Flow], level: list[int], times: list[list[Fraction]]) -> list[Frame]:
    return [
        Frame(time, level[i], flow.longest_frame_ns, i) for i, flow in enumerate(flows) for time in times[i]
    ]


def through_links(flows: list[Flow], times: list[list[Fraction]]) -> list[list[Fraction]]:
    """Delay frames so that those of one link follow each other at line rate, last bit by last bit."""
    result: list[list[Fraction]] = [[] for _ in flows]
    for link in {flow.link for flow in flows}:
        queue = sorted((time, i) for i, flow in enumerate(flows) if flow.link == link for time in times[i])
        free = None
        for time, i in queue:
            length = flows[i].longest_frame_ns
            arrival = time if free is None else max(time, free + length)
            result[i].append(arrival)
            free = arrival
    return result


def shifted_by_link(
    flows: list[Flow], times: list[list[Fraction]], arrived: list[list[Fraction]]
) -> list[Flow]:
    """The flows with the jitter that waiting for the link has added."""
    return [
        Flow(
            flow.wire_ns,
            flow.min_sep_ns,
            jitter_ns=flow.jitter_ns + max(b - a for a, b in zip(times[i], arrived[i], strict=True)),
            shortest_frame_ns=flow.shortest_frame_ns,
            longest_frame_ns=flow.longest_frame_ns,
            link=flow.link,
        )
        for i, flow in enumerate(flows)
    ]


def test_n1_holds_when_everybody_babbles() -> None:
    closest = ZERO
    for seed, rng in seeds(350):
        flows, level = random_port(rng)
        blocking = rng.choice([ZERO, Fraction(2), Fraction(5)])
        begin = [rng.choice([ZERO, ZERO, Fraction(rng.randint(0, 40), 4)]) for _ in flows]
        times = [babbling(flow, 30, begin[i]) for i, flow in enumerate(flows)]
        waits = worst_waits(blocked(blocking) + as_frames(flows, level, times))
        for i in range(len(flows)):
            limit = bound(flows, level, i, blocking)
            closest = max(closest, waits[i] / limit) if limit else closest
            assert waits[i] <= limit, f"GIUSTO_SEED={seed} {flows} {level} flow {i} blocking {blocking}"
    assert closest > Fraction(3, 4)


def test_n1_with_trusted_senders_holds_when_they_are_sporadic() -> None:
    closest = ZERO
    for seed, rng in seeds(350):
        flows, level = random_port(rng, trusted=True)
        blocking = rng.choice([ZERO, Fraction(2), Fraction(5)])
        begin = [rng.choice([ZERO, ZERO, Fraction(rng.randint(0, 40), 4)]) for _ in flows]
        times = [sporadic(rng, flow, 10, begin[i]) for i, flow in enumerate(flows)]
        waits = worst_waits(blocked(blocking) + as_frames(flows, level, times))
        for i in range(len(flows)):
            limit = bound(flows, level, i, blocking)
            closest = max(closest, waits[i] / limit) if limit else closest
            assert waits[i] <= limit, f"GIUSTO_SEED={seed} {flows} {level} flow {i} blocking {blocking}"
    assert closest > Fraction(1, 2)


def test_n1_is_attained_by_bursts_of_tiny_frames_above() -> None:
    """One frame of the flow, everything else bursts at 0, the higher levels go on at full rate."""
    for seed, rng in seeds(40):
        load = Fraction(rng.randint(1, 8), 10)
        tiny = Fraction(1, 50)
        above = Flow(1, 1 / load, longest_frame_ns=tiny)
        own = Flow(Fraction(1, 2), 10 / (1 - load))
        blocking = Fraction(rng.randint(0, 8), 4)
        limit = ports.queueing(own, [above], [], blocking)
        count = int((above.burst_ns + load * (limit + 1)) / tiny) + 2
        frames = [Frame(time, 2, tiny, 0) for time in babbling(above, count, ZERO)]
        frames += [Frame(ZERO, 1, own.wire_ns, 1)]
        frames += [Frame(-EPSILON, 0, blocking, -1)] if blocking else []
        wait = worst_waits(frames)[1]
        assert limit - EPSILON - 2 * tiny / (1 - load) <= wait <= limit, f"GIUSTO_SEED={seed}"


def test_n2_holds_behind_shared_links_and_is_never_above_n1() -> None:
    closest, smaller = ZERO, 0
    for seed, rng in seeds(300):
        flows, level = random_port(rng, links=rng.randint(1, 3))
        flows = [replace_jitter(flow, ZERO) for flow in flows]
        blocking = rng.choice([ZERO, Fraction(2)])
        begin = [rng.choice([ZERO, ZERO, Fraction(rng.randint(0, 40), 4)]) for _ in flows]
        sent = [babbling(flow, 25, begin[i]) for i, flow in enumerate(flows)]
        arrived = through_links(flows, sent)
        flows = shifted_by_link(flows, sent, arrived)
        waits = worst_waits(blocked(blocking) + as_frames(flows, level, arrived))
        for i in range(len(flows)):
            limit = bound(flows, level, i, blocking, refined=True)
            loose = bound(flows, level, i, blocking)
            message = f"GIUSTO_SEED={seed} {flows} {level} flow {i} blocking {blocking}"
            assert limit <= loose, message
            smaller += limit < loose
            closest = max(closest, waits[i] / limit) if limit else closest
            assert waits[i] <= limit, message
    assert smaller > 0
    assert closest > Fraction(1, 2)


def replace_jitter(flow: Flow, jitter: Fraction) -> Flow:
    return Flow(
        flow.wire_ns,
        flow.min_sep_ns,
        jitter_ns=jitter,
        shortest_frame_ns=flow.shortest_frame_ns,
        longest_frame_ns=flow.longest_frame_ns,
        link=flow.link,
        budget_ns=flow.budget_ns,
    )


def first_start(base: Fraction, above: Arrivals, load: Fraction, burst: Fraction) -> Fraction:
    """Least W with W = base + A(W): the candidate past all corners, and nothing before it."""
    start = (base + burst) / (1 - load)
    assert start == base + above.at(start)
    assert start == 0 or all(base + above.at(start * n / 40) > start * n / 40 for n in range(40))
    return start


def test_n2_is_the_maximum_over_all_arrival_times() -> None:
    """Its corners against a fine grid of s, and links of the higher levels taken into account."""
    for seed, rng in seeds(60):
        flows, level = random_port(rng, links=3)
        i = level.index(min(level))
        own = Arrivals([flow for j, flow in enumerate(flows) if level[j] == level[i]])
        higher = [flow for j, flow in enumerate(flows) if level[j] > level[i]]
        above = Arrivals(higher)
        load = sum((flow.load for flow in higher), ZERO)
        burst = sum((flow.burst_ns for flow in higher), ZERO)
        limit = bound(flows, level, i, ZERO, refined=True)
        moments = [*own.corners(), *(Fraction(step, 3) for step in range(40))]
        waits = [first_start(own.at(s) - flows[i].shortest_frame_ns, above, load, burst) - s for s in moments]
        assert max(waits) == limit, f"GIUSTO_SEED={seed} {flows} {level}"


def test_n2_without_known_links_is_n1() -> None:
    for seed, rng in seeds(100):
        flows, level = random_port(rng)
        for i in range(len(flows)):
            message = f"GIUSTO_SEED={seed}"
            assert bound(flows, level, i, ZERO, refined=True) == bound(flows, level, i, ZERO), message
