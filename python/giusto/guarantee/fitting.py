"""The least straight lines that lie above everything that was measured.

A line is chosen by how far it lies above the points in proportion, so that a small message is not charged for
what a large one costs; points far below the others count like those in the middle. It is never below a point:
what was measured is covered, rounding included.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import combinations
from math import ceil

from giusto.errors import InvalidInput
from giusto.guarantee.costs import Costs, Line
from giusto.guarantee.measured import CALLS, KINDS, READS, Point, Work


def least_line(points: Iterable[tuple[int, int]]) -> Line:
    """The least line above all points (size, cost), in picoseconds for each unit of size."""
    highest: dict[int, int] = {}
    for size, cost in points:
        highest[size] = max(cost, highest.get(size, 1))
    at = sorted(highest.items())
    if not at:
        raise InvalidInput("points", "none", "at least one point")
    return min((resting(slope, at) for slope in slopes(at)), key=lambda line: excess(line, at))


def slopes(at: Sequence[tuple[int, int]]) -> set[int]:
    """Slopes that the least line can have, in thousandths, rounded up: it is flat, or touches two points."""
    found = {0}
    for (left, low), (right, high) in combinations(at, 2):
        found.add(max(0, ceil(Fraction(1_000 * (high - low), right - left))))
    return found


def resting(slope: int, at: Sequence[tuple[int, int]]) -> Line:
    """The lowest line of this slope above all points."""
    return Line(max(1, *(cost - Line(0, slope).ns(size) for size, cost in at)), slope)


def excess(line: Line, at: Sequence[tuple[int, int]]) -> Fraction:
    """How far a line lies above the points, in proportion to their heights, or to that of the middle one."""
    middle = sorted(cost for _, cost in at)[len(at) // 2]
    return sum((Fraction(line.ns(size), max(cost, middle)) for size, cost in at), Fraction(0))


def by_subscribers(points: Sequence[Point]) -> tuple[Line, Line]:
    """For each size a line over the number of subscribers; then lines over the sizes for both parts of it."""
    by_size: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for point in points:
        by_size[point.work.size_bytes].append((point.work.count, point.cost_ns))
    rows = {size: least_line(row) for size, row in by_size.items()}
    each = {size: ceil(Fraction(row.byte_ps, 1_000)) for size, row in rows.items()}
    return least_line((size, row.fixed_ns) for size, row in rows.items()), least_line(each.items())


def fitted(points: Sequence[Point], stall_ns: int, basis: str) -> Costs:
    """The costs that cover all points."""
    of: defaultdict[str, list[Point]] = defaultdict(list)
    for point in points:
        of[point.work.kind].append(point)
    for kind in KINDS:
        if not of[kind]:
            raise InvalidInput("samples", kind, "some of each kind of work")
    take = least_line((point.work.size_bytes, point.cost_ns) for point in of["take"])
    step, deliver = by_subscribers(of["step"])
    serve, serve_each = by_subscribers(of["serve"])
    return Costs(
        take=take,
        step=step,
        deliver=deliver,
        write=least_line((point.work.size_bytes, point.cost_ns) for point in of["write"]),
        filter_ns=further_ns(of["filter"], step.fixed_ns + deliver.fixed_ns),
        frame_ns=max(further_ns(of[kind], take.fixed_ns) for kind in READS),
        turn_ns=highest_ns(of["turn"]),
        call_ns=highest_ns([point for kind in CALLS for point in of[kind]]),
        hop_ns=highest_ns(of["hop"]),
        stall_ns=max(1, stall_ns),
        serve=serve,
        serve_each=serve_each,
        basis=basis,
    )


def further_ns(points: Sequence[Point], first_ns: int) -> int:
    """What each of many frames or filters costs on top of what the first one is charged with.

    It is not less than what one of them costs ordinarily, however much the first one covers.
    """
    most = (max(point.cost_ns - first_ns, point.median_ns) for point in points)
    return max(
        1, *(ceil(Fraction(ns, max(1, point.work.count))) for ns, point in zip(most, points, strict=True))
    )


def highest_ns(points: Sequence[Point]) -> int:
    """The largest cost."""
    return max(1, *(point.cost_ns for point in points))


def covered_ns(costs: Costs, work: Work) -> int:
    """What the costs say of a piece of work."""
    match work.kind:
        case "take":
            return costs.take.ns(work.size_bytes)
        case "step":
            return costs.step.ns(work.size_bytes) + work.count * costs.deliver.ns(work.size_bytes)
        case "write":
            return costs.write.ns(work.size_bytes)
        case "serve":
            return costs.serve_ns(work.size_bytes, work.count)
        case "filter":
            return costs.step.fixed_ns + costs.deliver.fixed_ns + work.count * costs.filter_ns
        case "frame" | "excess":
            return costs.take.fixed_ns + work.count * costs.frame_ns
        case "turn":
            return costs.turn_ns
        case "hop":
            return costs.hop_ns
    return costs.call_ns
