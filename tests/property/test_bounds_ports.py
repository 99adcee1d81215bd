"""(N1), (N2), levels and paths against an exact simulation of switch ports."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction

from bounds_simulation import Frame, policed, seeds, transmissions, worst_waits
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
    assert closest > Fraction(95, 100)


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
    assert closest > Fraction(9, 10)


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
    assert closest > Fraction(8, 10)


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


def test_n2_is_the_maximum_over_all_arrival_times() -> None:
    """The corners against a fine grid of s."""
    for seed, rng in seeds(60):
        flows, level = random_port(rng, links=2)
        i = level.index(min(level))
        own = Arrivals([flow for j, flow in enumerate(flows) if level[j] == level[i]])
        above = Arrivals([flow for j, flow in enumerate(flows) if level[j] > level[i]])
        limit = bound(
            flows, [1 + (p > level[i]) if p >= level[i] else 1 for p in level], i, ZERO, refined=True
        )
        if any(p < level[i] for p in level):
            continue
        for step in range(60):
            s = Fraction(step, 3)
            base = own.at(s) - flows[i].shortest_frame_ns
            start = above.drained(base)
            assert start == base + above.at(start), f"GIUSTO_SEED={seed}"
            assert start - s <= limit, f"GIUSTO_SEED={seed}"


def test_n2_without_known_links_is_n1() -> None:
    for seed, rng in seeds(100):
        flows, level = random_port(rng)
        for i in range(len(flows)):
            message = f"GIUSTO_SEED={seed}"
            assert bound(flows, level, i, ZERO, refined=True) == bound(flows, level, i, ZERO), message


# --- levels


def budgeted(rng: random.Random) -> list[Flow]:
    count = rng.randint(1, 4)
    flows = []
    for _ in range(count):
        frame, frames = Fraction(rng.randint(1, 4), 4), rng.randint(1, 3)
        flows.append(
            Flow(
                frame * frames,
                frame * frames * count * rng.choice([Fraction(5, 4), 2, 4]),
                longest_frame_ns=frame,
                trusted=rng.random() < 0.3,
                budget_ns=Fraction(rng.randint(1, 28), 4),
            )
        )
    return flows


def keeps_budgets(flows: list[Flow], level: tuple[int, ...]) -> bool:
    return all(bound(flows, list(level), i, ZERO) <= flow.budget_ns for i, flow in enumerate(flows))  # type: ignore[operator]


def test_levels_agree_with_exhaustive_search_and_use_the_fewest() -> None:
    found = 0
    for seed, rng in seeds(400):
        flows = budgeted(rng)
        levels = rng.randint(1, 3)
        message = f"GIUSTO_SEED={seed} {flows} levels {levels}"
        fewest = min(
            (
                len(set(level))
                for level in itertools.product(range(levels), repeat=len(flows))
                if keeps_budgets(flows, level)
            ),
            default=None,
        )
        result = ports.assign_levels(flows, levels)
        if fewest is None:
            assert isinstance(result, ports.Unassigned), message
        else:
            found += 1
            assert isinstance(result, ports.Assigned), message
            assert len(set(result.level)) == fewest, message
            assert keeps_budgets(flows, result.level), message
            assert list(result.queueing_ns) == [
                bound(flows, list(result.level), i, ZERO) for i in range(len(flows))
            ]
    assert found > 30


def test_reconfiguration_never_turns_an_order_that_holds_before_and_after() -> None:
    for seed, rng in seeds(500):
        count = rng.randint(1, 6)
        old = [rng.randrange(8) for _ in range(count)]
        new = [rng.randrange(8) for _ in range(count)]
        moves = ports.reconfiguration(old, new)
        assert isinstance(moves, list)
        current = list(old)
        for move in moves:
            assert current[move.flow] == move.old
            current[move.flow] = move.new
            for i, j in itertools.permutations(range(count), 2):
                if old[i] > old[j] and new[i] > new[j]:
                    assert current[i] > current[j], f"GIUSTO_SEED={seed} {old} -> {new}"
        assert current == new


# --- paths


def random_network(rng: random.Random) -> tuple[dict[str, ports.Port], list[ports.Request]]:
    """A line of up to three ports; flows enter and leave anywhere. One byte takes one nanosecond."""
    names = ["a", "b", "c"][: rng.randint(1, 3)]
    state = {name: ports.Port(10**9, levels=3, blocking_bytes=rng.choice([0, 20])) for name in names}
    requests = []
    for n in range(rng.randint(3, 7)):
        first = rng.randrange(len(names))
        last = rng.randrange(first, len(names))
        frame, frames = rng.randint(4, 20), rng.randint(0, 2)
        short = rng.randint(1, frame)
        size = frame * frames + short
        requests.append(
            ports.Request(
                f"flow{n}",
                size,
                size * rng.randint(4, 12),
                rng.randint(60, 900),
                [ports.Hop(name, mux_ns=3, propagation_ns=1) for name in names[first : last + 1]],
                10**9,
                jitter_ns=rng.choice([0, 10]),
                shortest_frame_bytes=short,
                longest_frame_bytes=frame if frames else short,
            )
        )
    return state, requests


def frame_lengths(request: ports.Request) -> list[int]:
    """Long frames and a short last one."""
    full = (request.wire_bytes - request.shortest_bytes) // request.longest_bytes
    return [request.longest_bytes] * full + [request.shortest_bytes]


def run_line(
    rng: random.Random,
    state: dict[str, ports.Port],
    requests: list[ports.Request],
    levels: dict[str, ports.Assigned],
) -> tuple[dict[str, Fraction], bool]:
    """Worst end-to-end latency of every flow, and whether every port kept all its budgets."""
    arriving = {request.name: first_arrivals(rng, request) for request in requests}
    worst: dict[str, Fraction] = {}
    kept = True
    for name, port in state.items():
        present = [request for request in requests if any(hop.port == name for hop in request.hops)]
        position = {flow: i for i, flow in enumerate(port.flows)}
        frames = [
            Frame(Fraction(rng.randint(0, 300), 2), -1, Fraction(port.blocking_bytes), -1)
            for _ in range(6 if port.blocking_bytes else 0)
        ]
        sent_at: dict[int, list[Fraction]] = {}
        for n, request in enumerate(present):
            level = levels[name].level[position[request.name]]
            frames += [Frame(time, level, length, n) for time, length, _ in arriving[request.name]]
            sent_at[n] = [sent for _, _, sent in arriving[request.name]]
            arriving[request.name] = []
        for frame, start in transmissions(frames):
            if frame.flow < 0:
                continue
            request = present[frame.flow]
            sent = sent_at[frame.flow].pop(0)
            kept &= start - frame.time <= port.flows[request.name].budget_ns  # type: ignore[operator]
            arriving[request.name].append((start + frame.length + 1 + 3, frame.length, sent))
            if request.hops[-1].port == name:
                latency = start + frame.length + 1 - sent
                worst[request.name] = max(worst.get(request.name, ZERO), latency)
    return worst, kept


def first_arrivals(rng: random.Random, request: ports.Request) -> list[tuple[Fraction, Fraction, Fraction]]:
    """(last bit at the first port, length, sent), the first message late by the jitter."""
    begin = Fraction(rng.randint(0, 60))
    result = []
    for n in range(6):
        sent = begin + n * Fraction(request.min_sep_ns) + (Fraction(request.jitter_ns) if n == 0 else 0)
        bits = ZERO
        for length in frame_lengths(request):
            bits += length
            result.append((sent + bits + 3, Fraction(length), sent))
    return result


def test_admitted_paths_keep_every_budget_and_every_latency() -> None:
    admitted = denied = 0
    closest = ZERO
    for seed, rng in seeds(120):
        state, requests = random_network(rng)
        accepted: dict[str, tuple[ports.Request, Fraction]] = {}
        levels: dict[str, ports.Assigned] = {}
        for request in requests:
            result = ports.path_admission(request, state)
            if isinstance(result, ports.Denied):
                denied += 1
                continue
            admitted += 1
            state = result.ports
            levels.update(result.levels)
            accepted[request.name] = (request, result.bound_ns)
            assert result.present_ns <= result.bound_ns == request.max_latency_ns
        chosen = [request for request, _ in accepted.values()]
        for _ in range(4):
            worst, kept = run_line(rng, state, chosen, levels)
            assert kept, f"GIUSTO_SEED={seed}"
            for name, latency in worst.items():
                closest = max(closest, latency / accepted[name][1])
                assert latency <= accepted[name][1], f"GIUSTO_SEED={seed} {name}"
    assert admitted > 100
    assert denied > 20
    assert closest > Fraction(1, 2)
