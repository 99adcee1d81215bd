"""The `twrr` policy: topic-weighted round robin over the publishing clients of a topic (S0, TWR²R²).

The order of cells and the exact gaps (T1), (T2) are in `wrr`; here they become times. A backlog starts
worst just after the client's own quantum began: this quantum is lost (it lasts a whole quantum if the
policy keeps empty slots, else only the search), and n periods of "own cell and gap" later the n-th message
is done (T3). A flow that is no faster than its share then has an exact worst response (T4), which also is
the delay of a strict service curve whose rate-latency form (T5) composes over brokers. Topics and clients
are counted from 0, gaps in quanta, times in the unit of `quantum`. Assumptions A1 - A6 are those of
`table`; A7: a change of weights or membership takes effect between two cycles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from giusto.errors import InvalidInput
from giusto.guarantee import envelope, exact, wrr
from giusto.guarantee.exact import Number
from giusto.guarantee.refined import refined_response
from giusto.guarantee.table import Quanta, require_rate
from giusto.guarantee.wrr import cells, closed_gap, cycle, gap

__all__ = [
    "Allotment",
    "allotment",
    "cells",
    "chain_response",
    "closed_gap",
    "closed_latency",
    "completion",
    "cycle",
    "gap",
    "latency",
    "output_burst",
    "refined_response",
    "response",
    "service_rate",
]


def published(weights: Sequence[Number], publishers: Sequence[Number], topic: int) -> wrr.Rounds:
    """The rounds of a topic that somebody publishes."""
    rounds = wrr.Rounds.of(weights, publishers, topic)
    if rounds.size == 0:
        raise InvalidInput(f"publishers[{topic}]", 0, "at least one publishing client")
    return rounds


def done(rounds: wrr.Rounds, quanta: Quanta, n: int) -> Fraction:
    """(T3)."""
    return quanta.completion(rounds.longest(n), n * rounds.size)


def rate_of(rounds: wrr.Rounds, quantum: Fraction) -> Fraction:
    """R_k."""
    return Fraction(rounds.own) / (rounds.cycle * quantum)


def service_rate(
    weights: Sequence[Number], publishers: Sequence[Number], topic: int, quantum: Number
) -> Fraction:
    """R_k = v_k / T_cyc: the quanta per unit of time that one client of the topic is sure to get."""
    return rate_of(published(weights, publishers, topic), exact.positive("quantum", quantum))


def completion(
    weights: Sequence[Number],
    publishers: Sequence[Number],
    topic: int,
    n: int,
    quantum: Number,
    work_conserving: bool = True,
    search: Number = 0,
) -> Fraction:
    """(T3): from the arrival that starts a backlog to the end of the client's n-th quantum after it."""
    rounds = published(weights, publishers, topic)
    return done(rounds, Quanta.checked(quantum, 1, work_conserving, search), exact.whole("n", n, 1))


def response(
    weights: Sequence[Number],
    publishers: Sequence[Number],
    topic: int,
    burst: Number,
    rate: Number,
    quantum: Number,
    fragments: int = 1,
    work_conserving: bool = True,
    search: Number = 0,
) -> Fraction:
    """(T4): the worst response of one client's (burst, rate) flow; `Overload` when rate·fragments > R_k.

    `rate` counts messages per unit of time of `quantum`. Rate 0 means that the burst comes once: the result
    is the completion of its last message. Costs O(topics + v_k · different weights), whatever the burst.
    """
    rounds = published(weights, publishers, topic)
    quanta = Quanta.checked(quantum, fragments, work_conserving, search)
    flow_burst = exact.at_least_one("burst", burst)
    flow_rate = exact.nonnegative("rate", rate)
    require_rate(flow_rate, rate_of(rounds, quanta.quantum) / quanta.fragments)
    return envelope.worst(
        lambda n: done(rounds, quanta, n * quanta.fragments),
        flow_burst,
        flow_rate,
        rounds.own,
    )


def latency(
    weights: Sequence[Number],
    publishers: Sequence[Number],
    topic: int,
    quantum: Number,
    work_conserving: bool = True,
    search: Number = 0,
) -> Fraction:
    """T_k of (T5): the service curve R_k (t - T_k)^+ lies below the exact one and touches it."""
    rounds = published(weights, publishers, topic)
    quanta = Quanta.checked(quantum, 1, work_conserving, search)
    rate = rate_of(rounds, quanta.quantum)
    return max(done(rounds, quanta, n) - (n - 1) / rate for n in range(1, rounds.own + 1))


def closed_latency(
    weights: Sequence[Number],
    publishers: Sequence[Number],
    topic: int,
    quantum: Number,
    work_conserving: bool = True,
    search: Number = 0,
) -> Fraction:
    """The closed form of (T5): never below `latency`, in O(topics)."""
    rounds = published(weights, publishers, topic)
    quanta = Quanta.checked(quantum, 1, work_conserving, search)
    own, total = rounds.own, Fraction(rounds.size)
    for other, size in rounds.earlier + rounds.later:
        total += size * (other - own + 1 if other >= own else other * (1 - Fraction(other - 1, own)))
    return quanta.empty + total * quanta.quantum


def chain_response(hops: Sequence[tuple[Number, Number]], burst: Number) -> Fraction:
    """Σ T_j + (σ-1)/min R_j over brokers of (latency T_j, service rate R_j): the burst is paid once."""
    exact.require_some("hops", hops)
    for j, hop in enumerate(hops):
        exact.require_length(f"hops[{j}]", hop, 2)
    latencies = [exact.nonnegative(f"hops[{j}].latency", hop[0]) for j, hop in enumerate(hops)]
    rates = [exact.positive(f"hops[{j}].rate", hop[1]) for j, hop in enumerate(hops)]
    return sum(latencies, Fraction(0)) + (exact.at_least_one("burst", burst) - 1) / min(rates)


def output_burst(burst: Number, rate: Number, response: Number, shortest: Number) -> Fraction:
    """σ + ρ(D - D_min): the burst of a flow behind a server whose responses lie in [shortest, response]."""
    latest = exact.nonnegative("response", response)
    earliest = exact.nonnegative("shortest", shortest)
    if earliest > latest:
        raise InvalidInput("shortest", shortest, f"at most the response, {latest}")
    return exact.at_least_one("burst", burst) + exact.nonnegative("rate", rate) * (latest - earliest)


@dataclass(frozen=True, slots=True)
class Allotment:
    """Who gets what of one cycle: topics by cells and by time, clients by quanta and by time."""

    topic_cells: tuple[Fraction, ...]
    topic_time: tuple[Fraction, ...]
    client_quanta: tuple[int, ...]
    client_time: tuple[Fraction, ...]


def allotment(weights: Sequence[Number], matrix_in: Sequence[Sequence[int]]) -> Allotment:
    """r_k of S0 (1), and corrected (4), (5): client i has δ_i/g quanta in a cycle of Σδ/g quanta.

    `matrix_in[i][k]` is 1 if client i publishes topic k. `client_quanta` is δ_i/g; with nobody publishing
    there is no time to share out, which is refused.
    """
    share = wrr.shares(weights)
    exact.require_some("matrix_in", matrix_in)
    for i, row in enumerate(matrix_in):
        exact.require_length(f"matrix_in[{i}]", row, len(share))
    ones = [
        [exact.index(f"matrix_in[{i}][{k}]", entry, 2) for k, entry in enumerate(row)]
        for i, row in enumerate(matrix_in)
    ]
    quanta = [sum(v for v, entry in zip(share, row, strict=True) if entry) for row in ones]
    total = sum(quanta)
    if total == 0:
        raise InvalidInput("matrix_in", matrix_in, "at least one publishing client")
    columns = [sum(row[k] for row in ones) for k in range(len(share))]
    return Allotment(
        topic_cells=tuple(Fraction(v, sum(share)) for v in share),
        topic_time=tuple(Fraction(v * n, total) for v, n in zip(share, columns, strict=True)),
        client_quanta=tuple(quanta),
        client_time=tuple(Fraction(own, total) for own in quanta),
    )
