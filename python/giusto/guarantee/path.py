"""Whether a new flow may enter a path of several ports without breaking a promise made to another flow.

The latency that a subscription allows, less what is fixed, is split into one queueing budget per port; the
budgets never change afterwards. A port that keeps its budget delays a frame by 0 to q, so that the flow's
jitter grows by q from port to port: J' = J + q (S3 shortens the separation instead,
which is unsafe behind a limiter). Every port can then be tested alone, for all its flows, and nothing
propagates: not even around a cycle of ports, for the first budget to be broken would have to be broken by
flows that all kept theirs.

Lengths of frames cancel: (N1) for a frame longer than the shortest by x is smaller by at least x, so wait
plus transmission is at most q + l with l the shortest frame, for every frame of the flow. This is why the
fixed part counts the whole message once and then only the shortest frame for each port.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from giusto.errors import Duplicate, InvalidInput, Unknown
from giusto.guarantee import exact
from giusto.guarantee.exact import Number
from giusto.guarantee.flow import Flow, frame_bytes
from giusto.guarantee.levels import Assigned, Unassigned, assign_levels


@dataclass(frozen=True, slots=True)
class Port:
    """An egress port: speed, levels, longest best-effort frame, and the flows that were admitted, by name."""

    bandwidth_bytes_per_s: Number
    levels: int = 8
    blocking_bytes: int = 1538
    flows: Mapping[str, Flow] = field(default_factory=dict)

    def wire_ns(self, size_bytes: int) -> Fraction:
        """How long so many bytes take on the wire."""
        bandwidth = exact.positive("bandwidth_bytes_per_s", self.bandwidth_bytes_per_s)
        return exact.nonnegative("size_bytes", size_bytes) * 10**9 / bandwidth


@dataclass(frozen=True, slots=True)
class Hop:
    """A port on a path with the switch before it, the wire behind it, and its part of the budget."""

    port: str
    mux_ns: Number = 0
    propagation_ns: Number = 0
    weight: Number = 1


@dataclass(frozen=True, slots=True)
class Request:
    """A subscription; `name` stands for publisher and topic, sizes include the overhead of all frames."""

    name: str
    wire_bytes: int
    min_sep_ns: Number
    max_latency_ns: Number
    hops: Sequence[Hop]
    first_bandwidth_bytes_per_s: Number
    jitter_ns: Number = 0
    shortest_frame_bytes: int | None = None
    longest_frame_bytes: int | None = None
    first_propagation_ns: Number = 0

    @property
    def shortest_bytes(self) -> int:
        """Shortest frame; the whole message if it is one frame."""
        return frame_bytes("shortest_frame_bytes", self.shortest_frame_bytes, self.longest_bytes)

    @property
    def longest_bytes(self) -> int:
        """Longest frame."""
        return frame_bytes("longest_frame_bytes", self.longest_frame_bytes, self.wire_bytes)


@dataclass(frozen=True, slots=True)
class Admitted:
    """The ports with the flow in them, its levels, what is promised for good, and what holds at present.

    `bound_ns` stays true whatever is admitted later; `present_ns` uses today's (N1) in place of the budgets.
    """

    ports: dict[str, Port]
    levels: dict[str, Assigned]
    bound_ns: Fraction
    present_ns: Fraction


@dataclass(frozen=True, slots=True)
class Denied:
    """Why not, and at which port (None if the fixed part alone is too long)."""

    reason: str
    port: str | None = None


def fixed_latency(request: Request, ports: Mapping[str, Port]) -> Fraction:
    """What the path costs with empty queues: the message once, then a frame per port, wires and switches."""
    require_names(request)
    size = exact.whole("wire_bytes", request.wire_bytes, 1)
    total = size * 10**9 / exact.positive("first_bandwidth_bytes_per_s", request.first_bandwidth_bytes_per_s)
    total += exact.nonnegative("first_propagation_ns", request.first_propagation_ns)
    for k, hop in enumerate(request.hops):
        total += known(ports, hop.port).wire_ns(request.shortest_bytes)
        total += exact.nonnegative(f"hops[{k}].mux_ns", hop.mux_ns)
        total += exact.nonnegative(f"hops[{k}].propagation_ns", hop.propagation_ns)
    return total


def require_names(request: Request) -> None:
    """A request, its hops and their names are what they should be."""
    exact.require_kind("request", request, Request)
    exact.require_kind("name", request.name, str)
    exact.require_kinds("hops", request.hops, Hop)
    for k, hop in enumerate(request.hops):
        exact.require_kind(f"hops[{k}].port", hop.port, str)


def known(ports: Mapping[str, Port], name: str) -> Port:
    """The port, or `Unknown`."""
    exact.require_kind("ports", ports, Mapping)
    if name not in ports:
        raise Unknown("port", name)
    exact.require_kind(f"ports[{name}]", ports[name], Port)
    return ports[name]


def budgets(request: Request, queueing_ns: Fraction) -> list[Fraction]:
    """The queueing that the path allows, split by the weights of the hops."""
    weights = [exact.positive(f"hops[{k}].weight", hop.weight) for k, hop in enumerate(request.hops)]
    return [queueing_ns * weight / sum(weights) for weight in weights]


def path_admission(request: Request, ports: Mapping[str, Port]) -> Admitted | Denied:
    """Admit the request at all its ports, or change nothing and say which port could not take it.

    Subscriptions of one name are one flow. If a port knows the name with other sizes or another separation,
    `Duplicate` is raised: the promises made to that flow would no longer hold.
    """
    require_names(request)
    exact.require_some("hops", request.hops)
    names = [hop.port for hop in request.hops]
    if len(set(names)) < len(names):
        raise InvalidInput("hops", names, "each port once")
    fixed = fixed_latency(request, ports)
    queueing_ns = exact.positive("max_latency_ns", request.max_latency_ns) - fixed
    if queueing_ns < 0:
        return Denied(f"the path takes {fixed} ns with empty queues")
    jitter = exact.nonnegative("jitter_ns", request.jitter_ns)
    changed: dict[str, Port] = {}
    levels: dict[str, Assigned] = {}
    present = fixed
    for hop, budget in zip(request.hops, budgets(request, queueing_ns), strict=True):
        port = with_flow(known(ports, hop.port), request, jitter, budget)
        result = assign_levels(list(port.flows.values()), port.levels, port.wire_ns(port.blocking_bytes))
        if isinstance(result, Unassigned):
            return Denied(result.reason, hop.port)
        changed[hop.port], levels[hop.port] = port, result
        present += result.queueing_ns[list(port.flows).index(request.name)]
        jitter += budget
    return Admitted({**ports, **changed}, levels, fixed + queueing_ns, present)


def with_flow(port: Port, request: Request, jitter: Fraction, budget: Fraction) -> Port:
    """The port with the new flow; all subscriptions of one name are one flow with the least budget."""
    exact.require_kind("flows", port.flows, Mapping)
    old = port.flows.get(request.name)
    if old is not None:
        jitter = max(jitter, old.jitter_ns)
        budget = budget if old.budget_ns is None else min(budget, old.budget_ns)
    flow = Flow(
        port.wire_ns(request.wire_bytes),
        request.min_sep_ns,
        jitter_ns=jitter,
        shortest_frame_ns=port.wire_ns(request.shortest_bytes),
        longest_frame_ns=port.wire_ns(request.longest_bytes),
        budget_ns=budget,
    )
    if old is not None and replace(old, jitter_ns=jitter, budget_ns=budget) != flow:
        raise Duplicate("flow", request.name)
    return replace(port, flows={**port.flows, request.name: flow})
