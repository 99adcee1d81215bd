"""Levels against exhaustive search, reconfiguration step by step, and admitted paths in simulation."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction

from bounds_simulation import Frame, seeds, transmissions

from giusto.guarantee import ports
from giusto.guarantee.ports import Flow

ZERO = Fraction(0)


def bound(flows: list[Flow], level: tuple[int, ...], i: int) -> Fraction:
    """(N1) of flow i under an assignment."""
    higher = [flow for j, flow in enumerate(flows) if level[j] > level[i]]
    same = [flow for j, flow in enumerate(flows) if level[j] == level[i] and j != i]
    lower = [flow.longest_frame_ns for j, flow in enumerate(flows) if level[j] < level[i]]
    return ports.queueing(flows[i], higher, same, max([ZERO, *lower]))


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
    return all(bound(flows, level, i) <= flow.budget_ns for i, flow in enumerate(flows))  # type: ignore[operator]


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
            assert list(result.queueing_ns) == [bound(flows, result.level, i) for i in range(len(flows))]
    assert found > 5


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
                rng.randint(40, 400),
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
    assert admitted > 20
    assert denied > 2
    assert closest > Fraction(1, 4)
