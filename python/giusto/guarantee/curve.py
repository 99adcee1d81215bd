"""How much traffic a set of flows can bring in a window: concave, piecewise linear, exact.

On a link with several flows the traffic is bounded twice: each flow by its burst and rate, and by what the
link can carry, t plus the one frame that is stored whole when its last bit arrives. A(t) is the sum over
the links of the least of these. A flow on an unknown link is bounded by its burst and rate only.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction

from giusto.guarantee.flow import Flow


class Arrivals:
    """A(t) of a set of flows."""

    def __init__(self, flows: Sequence[Flow]) -> None:
        self.free = [flow for flow in flows if flow.link is None]
        grouped: defaultdict[int, list[Flow]] = defaultdict(list)
        for flow in flows:
            if flow.link is not None:
                grouped[flow.link].append(flow)
        self.links = [Link(group) for _, group in sorted(grouped.items())]

    def at(self, t: Fraction) -> Fraction:
        """A(t), t >= 0."""
        free = sum((flow.burst_ns + flow.load * t for flow in self.free), Fraction(0))
        return free + sum(link.at(t) for link in self.links)

    def corners(self) -> list[Fraction]:
        """0 and every t where A bends, ascending."""
        return sorted({Fraction(0), *(corner for link in self.links for corner in link.corners())})


class Link:
    """min( t + longest frame, Σ_j min( t + own longest frame, σ_j + U_j t ) )."""

    def __init__(self, flows: Sequence[Flow]) -> None:
        self.flows = flows
        self.frame = max(flow.longest_frame_ns for flow in flows)

    def offered(self, t: Fraction) -> Fraction:
        """The inner sum."""
        return sum(
            (min(t + flow.longest_frame_ns, flow.burst_ns + flow.load * t) for flow in self.flows),
            Fraction(0),
        )

    def at(self, t: Fraction) -> Fraction:
        """What the link brings in a window of length t."""
        return min(t + self.frame, self.offered(t))

    def corners(self) -> list[Fraction]:
        """Where a flow leaves the line rate, and where all of them together do."""
        bends = sorted(
            (flow.burst_ns - flow.longest_frame_ns) / (1 - flow.load) for flow in self.flows if flow.load < 1
        )
        return bends + self.crossing([Fraction(0), *bends])

    def crossing(self, bends: Sequence[Fraction]) -> list[Fraction]:
        """Where the inner sum falls below the line rate, if it does."""
        excess = [self.offered(t) - t - self.frame for t in bends]
        for i in range(len(bends) - 1):
            if excess[i] > 0 >= excess[i + 1]:
                part = excess[i] / (excess[i] - excess[i + 1])
                return [bends[i] + part * (bends[i + 1] - bends[i])]
        load = sum(flow.load for flow in self.flows)
        return [bends[-1] + excess[-1] / (1 - load)] if excess[-1] > 0 and load < 1 else []
