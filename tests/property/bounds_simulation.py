"""Exact simulations of the servers that the bounds speak about: the brute force of the property tests.

Every random case is drawn from GIUSTO_SEED (0 if not set) and its own number, which the assertion message
shows; GIUSTO_CASES multiplies the number of cases.
"""

from __future__ import annotations

import heapq
import os
import random
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

ZERO = Fraction(0)


def seeds(count: int) -> Iterator[tuple[str, random.Random]]:
    """`count` random generators, each with the label that an assertion shows."""
    base = os.environ.get("GIUSTO_SEED") or "0"
    for case in range(count * int(os.environ.get("GIUSTO_CASES") or "1")):
        yield f"{base} case {case}", random.Random(f"{base} case {case}")


def greedy(burst: Fraction, rate: Fraction, count: int) -> list[Fraction]:
    """The densest (σ,ρ) arrivals."""
    return [max(ZERO, (n - burst) / rate) if n > burst else ZERO for n in range(1, count + 1)]


def conforming(rng: random.Random, burst: Fraction, rate: Fraction, count: int) -> list[Fraction]:
    """Random (σ,ρ) arrivals: as soon as the bucket allows, or some time later."""
    times: list[Fraction] = []
    earliest = Fraction(rng.randint(0, 20), 4)
    # The theoretical time of the n-th message, as in a leaky bucket run as a virtual clock.
    theoretical = earliest
    for _ in range(count):
        time = max(earliest, theoretical - (burst - 1) / rate)
        if rng.random() < 0.3:
            time += Fraction(rng.randint(0, 12), 4) / rate
        times.append(time)
        theoretical = max(theoretical, time) + 1 / rate
        earliest = time
    return times


# --- twrr and other tables


class Slot(NamedTuple):
    """A broker seen from one client: the table of cells, quanta per cell, its topic and place in the cell."""

    order: Sequence[int]
    sizes: Sequence[int]
    topic: int
    place: int


def responses_from(
    slot: Slot,
    start: int,
    arrivals: Sequence[Fraction],
    quantum: Fraction,
    empty: Fraction,
    fragments: int = 1,
) -> list[Fraction]:
    """Responses to arrivals just after the own quantum in cell `start` began, all other quanta full.

    An arrival at time a is meant as a + ε: a visit at a misses it, and responses are suprema.
    """
    # With nothing else to visit and nothing to pay for an empty visit, the server just waits for the message.
    alone = empty == 0 and set(slot.order) == {slot.topic} and slot.sizes[slot.topic] == 1
    rest = (slot.sizes[slot.topic] - slot.place - 1) * quantum
    now, cell, left = empty + rest, start, fragments
    results: list[Fraction] = []
    while len(results) < len(arrivals):
        cell = (cell + 1) % len(slot.order)
        if slot.order[cell] != slot.topic:
            now += slot.sizes[slot.order[cell]] * quantum
            continue
        arrival = arrivals[len(results)]
        now = max(now, arrival) if alone else now + slot.place * quantum
        found = alone or arrival < now
        now += quantum if found else empty
        left -= found
        if left == 0:
            results.append(now - arrival)
            left = fragments
        now += rest
    return results


def broker_responses(
    order: Sequence[int],
    arrivals: dict[tuple[int, int], list[Fraction]],
    start: int,
    quantum: Fraction,
    search: Fraction,
) -> dict[tuple[int, int], Fraction]:
    """Worst response of every queue of a work-conserving broker that starts with cell `start`."""
    clients: dict[int, int] = {}
    for topic, client in arrivals:
        clients[topic] = max(clients.get(topic, 0), client + 1)
    waiting = dict.fromkeys(arrivals, 0)
    worst = dict.fromkeys(arrivals, ZERO)
    left = sum(len(times) for times in arrivals.values())
    now, cell = ZERO, start
    while left:
        topic = order[cell % len(order)]
        for client in range(clients.get(topic, 0)):
            queue = (topic, client)
            position = waiting[queue]
            if position < len(arrivals[queue]) and arrivals[queue][position] <= now:
                now += quantum
                worst[queue] = max(worst[queue], now - arrivals[queue][position])
                waiting[queue] += 1
                left -= 1
            else:
                now += search
        cell += 1
    return worst


def fixed_slots(slot: Slot, phase: int, arrivals: Sequence[Fraction]) -> list[Fraction]:
    """Completion times under kept slots of one quantum each, the table starting at time 0 in cell `phase`."""
    now, cell, done = ZERO, phase, []
    while len(done) < len(arrivals):
        topic = slot.order[cell % len(slot.order)]
        if topic == slot.topic:
            visit = now + slot.place
            if arrivals[len(done)] <= visit:
                done.append(visit + 1)
        now += slot.sizes[topic]
        cell += 1
    return done


# --- deadlines


class Job(NamedTuple):
    """A message with a deadline; `rank` breaks ties, the lower goes first."""

    release: Fraction
    deadline: Fraction
    cost: Fraction
    rank: int
    task: int


def edf_completions(jobs: Sequence[Job]) -> list[tuple[Job, Fraction]]:
    """Non-preemptive earliest deadline first."""
    pending = sorted(jobs)
    ready: list[tuple[Fraction, int, int]] = []
    done: list[tuple[Job, Fraction]] = []
    now, seen = ZERO if not pending else pending[0].release, 0
    while len(done) < len(pending):
        if not ready:
            now = max(now, pending[seen].release)
        while seen < len(pending) and pending[seen].release <= now:
            heapq.heappush(ready, (pending[seen].deadline, pending[seen].rank, seen))
            seen += 1
        job = pending[heapq.heappop(ready)[2]]
        now += job.cost
        done.append((job, now))
    return done


# --- polling server


def polled_completions(
    arrivals: Sequence[Fraction],
    period: Fraction,
    budget: Fraction,
    service: Fraction,
    keeps: bool = False,
    missed: bool = True,
) -> list[Fraction]:
    """One queue in first-in first-out order; with `missed` an arrival at a is just after a."""

    def there(message: int, time: Fraction) -> bool:
        return arrivals[message] < time or (not missed and arrivals[message] == time)

    done: list[Fraction] = []
    window = ZERO
    while len(done) < len(arrivals):
        now = window
        while len(done) < len(arrivals):
            if not there(len(done), now):
                if not keeps:
                    break
                now = arrivals[len(done)]
            if now + service > window + budget:
                break
            now += service
            done.append(now)
        window += period
    return done


# --- switch port


class Frame(NamedTuple):
    """A frame at a port: when its last bit is stored, level (a larger one goes first), length, flow."""

    time: Fraction
    level: int
    length: Fraction
    flow: int


def transmissions(frames: Sequence[Frame]) -> list[tuple[Frame, Fraction]]:
    """Each frame with the start of its transmission: highest level first, first in first out inside."""
    pending = sorted(range(len(frames)), key=lambda i: frames[i].time)
    ready: list[tuple[int, int]] = []
    started: list[tuple[Frame, Fraction]] = []
    seen = 0
    now = frames[pending[0]].time if frames else ZERO
    while len(started) < len(frames):
        if not ready:
            now = max(now, frames[pending[seen]].time)
        while seen < len(pending) and frames[pending[seen]].time <= now:
            heapq.heappush(ready, (-frames[pending[seen]].level, seen))
            seen += 1
        frame = frames[pending[heapq.heappop(ready)[1]]]
        started.append((frame, now))
        now += frame.length
    return started


def worst_waits(frames: Sequence[Frame]) -> dict[int, Fraction]:
    """The longest wait of each flow."""
    worst: dict[int, Fraction] = {}
    for frame, start in transmissions(frames):
        worst[frame.flow] = max(worst.get(frame.flow, ZERO), start - frame.time)
    return worst


def policed(
    burst: Fraction, load: Fraction, lengths: Sequence[Fraction], begin: Fraction = ZERO
) -> list[Fraction]:
    """The earliest times at which a token bucket lets frames of these lengths through, full at `begin`."""
    times, sent = [], ZERO
    for length in lengths:
        sent += length
        times.append(begin + max(ZERO, (sent - burst) / load))
    return times
