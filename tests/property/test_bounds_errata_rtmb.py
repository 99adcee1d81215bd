"""What is wrong in S3 as reconstructed: one test per row of the errata, with its counterexample."""

from __future__ import annotations

from fractions import Fraction

from bounds_simulation import Frame, policed, seeds, transmissions, worst_waits

from giusto.guarantee import ports
from giusto.guarantee.ports import Flow

ZERO, ONE = Fraction(0), Fraction(1)
EPSILON = Fraction(1, 10**6)


def printed_queueing(flow: Flow, higher: list[Flow]) -> Fraction:
    """(5): Q = (C + Σ C_j (1 - U_j)) / (1 - Σ U_j) - C over the higher priorities."""
    numerator = flow.wire_ns + sum(other.wire_ns * (1 - other.load) for other in higher)
    return numerator / (1 - sum(other.load for other in higher)) - flow.wire_ns


def test_errata_s3_blocking() -> None:
    """84 bytes of the highest priority behind 1538 bytes of best effort, at 1 Gb/s."""
    alarm = Flow(84 * 8, 10**6)
    assert printed_queueing(alarm, []) == 0
    frames = [Frame(-EPSILON, 0, Fraction(1538 * 8), -1), Frame(ZERO, 7, alarm.wire_ns, 0)]
    assert worst_waits(frames)[0] == 12304 - EPSILON
    assert ports.queueing(alarm, [], [], 1538 * 8) == 12304


def test_errata_s3_level_mates() -> None:
    one, other = Flow(1, 10), Flow(1, 10)
    assert printed_queueing(one, []) == 0
    assert worst_waits([Frame(ZERO, 1, ONE, 1), Frame(ZERO, 1, ONE, 0)])[0] == 1
    assert ports.queueing(one, [], [other], 0) == 1


def test_errata_s3_babbling() -> None:
    """A limiter lets through burst and rate at once, which no sporadic task does."""
    babbler, victim = Flow(1, Fraction("1.25"), longest_frame_ns=Fraction("0.01")), Flow(Fraction("0.01"), 10)
    assert printed_queueing(victim, [babbler]) == Fraction("1.04")
    times = policed(babbler.burst_ns, babbler.load, [babbler.longest_frame_ns] * 600)
    frames = [Frame(time, 2, babbler.longest_frame_ns, 1) for time in times] + [
        Frame(ZERO, 1, victim.wire_ns, 0)
    ]
    seen = worst_waits(frames)[0]
    bound = ports.queueing(victim, [babbler], [], 0)
    assert bound == 5
    assert Fraction("1.04") < Fraction("4.9") < seen <= bound
    trusted = Flow(1, Fraction("1.25"), trusted=True)
    assert ports.message_queueing(victim, [trusted], [], 0) == 1, "the printed term is for trusted senders"


def test_errata_s3_algorithm_1() -> None:
    """The printed level test sees only higher priorities, so both flows end up on level 0."""
    loose = Flow(1, 10, longest_frame_ns=Fraction("0.1"), budget_ns=100)
    tight = Flow(Fraction("0.1"), 10, budget_ns=Fraction("0.2"))
    assert printed_queueing(loose, [tight]) <= 100
    assert printed_queueing(tight, []) == 0
    frames = [Frame(ZERO, 0, Fraction("0.1"), 0)] * 10 + [Frame(ZERO, 0, Fraction("0.1"), 1)]
    assert worst_waits(frames)[1] == 1 > tight.budget_ns  # type: ignore[operator]
    result = ports.assign_levels([loose, tight], 8)
    assert isinstance(result, ports.Assigned)
    assert result.level == (0, 1)


def test_errata_s3_opa() -> None:
    """One FIFO level is enough, and one flow per level is not: neither optimal nor fewest levels."""
    flows = [Flow(1, 4, longest_frame_ns=Fraction("0.1"), budget_ns=3) for _ in range(3)]
    assert ports.queueing(flows[0], flows[1:], [], 0) == Fraction("5.8")
    result = ports.assign_levels(flows, 8)
    assert isinstance(result, ports.Assigned)
    assert result.level == (0, 0, 0)
    assert result.queueing_ns == (Fraction("2.9"),) * 3


def test_errata_s3_recursion_burst() -> None:
    """Six policed flows, M = 1, minSep = 10, delayed by 0 to 4 upstream: more than M arrives at once."""
    frame = Fraction("0.01")
    shorter = [Flow(1, 10 - 4, longest_frame_ns=frame) for _ in range(6)]
    printed = ports.queueing(shorter[0], [], shorter[1:], 0)
    assert printed == 6 - frame
    jittered = [Flow(1, 10, jitter_ns=4, longest_frame_ns=frame) for _ in range(6)]
    bound = ports.queueing(jittered[0], [], jittered[1:], 0)
    assert bound == Fraction("8.39")
    sent = policed(ONE, Fraction(1, 10), [frame] * 140)
    frames = [Frame(max(time, Fraction(4)), 1, frame, i) for i in range(6) for time in sent]
    assert all(0 <= max(time, Fraction(4)) - time <= 4 for time in sent)
    seen = max(worst_waits(frames).values())
    assert printed < seen <= bound


def test_errata_s3_recursion_range() -> None:
    """minSep' = minSep - Σq has no meaning where the jitter model still works."""
    min_sep, wire, allotted = 10, 4, [Fraction(4)] * 3
    left = [min_sep - sum(allotted[: k + 1]) for k in range(3)]
    assert wire / left[1] > 1, "a load above 1 before the separation is used up"
    assert left[2] < 0
    flow = Flow(wire, min_sep, jitter_ns=sum(allotted), longest_frame_ns=1)
    assert ports.queueing(flow, [], [], 0) == flow.burst_ns - 1 == wire + Fraction(4, 10) * 12 - 1


def passed(burst: Fraction, rate: Fraction, sizes: list[int], times: list[Fraction]) -> int:
    """Messages that a token bucket lets through."""
    tokens, last, count = burst, times[0], 0
    for size, time in zip(sizes, times, strict=True):
        tokens = min(burst, tokens + rate * (time - last))
        last = time
        if size <= tokens:
            tokens -= size
            count += 1
    return count


def test_errata_s3_limiter_burst() -> None:
    """A publisher that keeps its separation up to its jitter must lose nothing."""
    size, min_sep, jitter = 1000, 1_000_000, 100_000
    times = [Fraction(jitter)] + [Fraction(n * min_sep) for n in range(1, 6)]
    rate = Fraction(size, min_sep)
    assert passed(Fraction(size), rate, [size] * 6, times) < 6, "printed: B = M"
    installed = ports.limiter(size, min_sep, jitter)
    assert installed == ports.Limiter(1100, 1_000_000)
    assert passed(Fraction(installed.burst_bytes), rate, [size] * 6, times) == 6
    # The same happens to a limiter that counts headers if M does not.
    assert passed(Fraction(size), rate, [size + 38] * 6, [Fraction(n * min_sep) for n in range(6)]) == 0


def test_errata_s3_fixed_latency() -> None:
    """A message of ten frames over three ports is pipelined; M/BW for every link is safe but too long."""
    state = {name: ports.Port(10**9, blocking_bytes=0) for name in "abc"}
    request = ports.Request(
        "flow", 10_000, 10**6, 10**6, [ports.Hop(name) for name in "abc"], 10**9, longest_frame_bytes=1000
    )
    printed = 4 * 10_000
    arrived = [Fraction(1000 * (n + 1)) for n in range(10)]
    for _ in state:
        frames = [Frame(time, 1, Fraction(1000), 0) for time in arrived]
        arrived = [start + frame.length for frame, start in transmissions(frames)]
    assert arrived[-1] == ports.fixed_latency(request, state) == 13_000 < printed


def transiently_broken(old: list[int], new: list[int], order: list[int]) -> bool:
    """Whether two flows that are in one strict order before and after are not, on the way."""
    current = list(old)
    for flow in order:
        current[flow] = new[flow]
        for i in range(len(old)):
            for j in range(len(old)):
                if old[i] > old[j] and new[i] > new[j] and current[i] <= current[j]:
                    return True
    return False


def test_errata_s3_reconfiguration() -> None:
    """Printed: flows of lower priority first. From (4, 5) to (5, 6) both are on level 5 for a while."""
    assert transiently_broken([4, 5], [5, 6], [0, 1])
    moves = ports.reconfiguration([4, 5], [5, 6])
    assert isinstance(moves, list)
    assert [move.flow for move in moves] == [1, 0]
    printed_broken = 0
    for seed, rng in seeds(400):
        count = rng.randint(2, 6)
        old, new = ([rng.randrange(8) for _ in range(count)] for _ in range(2))
        by_priority = sorted(range(count), key=lambda i, new=new: new[i])
        printed_broken += transiently_broken(old, new, by_priority)
        moves = ports.reconfiguration(old, new)
        assert isinstance(moves, list)
        assert not transiently_broken(old, new, [move.flow for move in moves]), (
            f"GIUSTO_SEED={seed} {old} {new}"
        )
    assert printed_broken > 0
