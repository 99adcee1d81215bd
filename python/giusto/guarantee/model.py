"""What a bus under contract consists of, as far as its bounds depend on it: plain values without behaviour.

Only what is *guarded* appears here: topics under contract, everybody who publishes on them, and what was
promised. All other traffic is `Rest`: it is served when nothing guarded waits, so that it blocks for a
while, once, however much of it there is.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from giusto.contract import Part
from giusto.guarantee.costs import Costs
from giusto.protocol import ShareTerms


@dataclass(frozen=True, slots=True, kw_only=True)
class Supply:
    """A flow: at most `burst` + (t + `jitter_ns`)·`count`/`period_ns` messages in any window of length t.

    That is what its policer lets through, so that `jitter_ns` contains the broker's tolerance.
    """

    client: str
    topic: str
    count: int
    period_ns: int
    burst: int = 1
    jitter_ns: int = 0
    size_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """A need for a latency on one topic. A subscription with wildcards has one on each; `key` is its own.

    `pattern` is what the subscription is to, for those who are told about it.
    """

    key: str
    client: str
    topic: str
    max_latency_ns: int
    pattern: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Allotted:
    """A guarded topic: its share in the input stage, and how many clients get its messages.

    They may have several `subscriptions` on it, and filters with so many `comparisons` in all. Who they are
    (`receivers`) matters where links have a bandwidth; whoever has a demand is one of them anyway.

    `place` is its number in the data plane, by which `smooth` orders topics of equal credit; topics without
    one come in the order of their names.
    """

    topic: str
    share: ShareTerms = field(default_factory=ShareTerms)
    fanout: int = 1
    place: int | None = None
    subscriptions: int = 0
    comparisons: int = 0
    receivers: frozenset[str] = frozenset()

    @property
    def audience(self) -> tuple[int, int, int]:
        """Clients, subscriptions that they have beside one each, and comparisons: what a quantum costs."""
        return self.fanout, max(0, self.subscriptions - self.fanout), self.comparisons


@dataclass(frozen=True, slots=True, kw_only=True)
class Rest:
    """The traffic that is not guarded: what its longest indivisible piece of work may be.

    `fanout` counts the subscriptions of a topic, `comparisons` those of all of their filters.
    """

    fanout: int = 0
    size_bytes: int = 0
    comparisons: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkTerms:
    """The way between a program and the broker; a bandwidth of 0 is that of memory."""

    delay_ns: int = 0
    bits_per_second: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """How the broker serves: from its configuration and its calibration, the same for all contracts.

    `tolerance_ns` is the part of every flow's jitter that the broker itself has added for the policer's sake;
    if it is above 0, nothing is granted under which a publisher that keeps its offer could be policed. So
    much of it as `tolerance_beside_ns` comes with the link and the period, the other part is as configured.
    """

    input: str = "twrr"
    costs: Costs = field(default_factory=Costs)
    fragment_bytes: int = 65_536
    period_ns: int = 0
    budget_ns: int = 0
    slice_ns: int = 100_000
    turn_steps: int = 8
    link_in: LinkTerms = field(default_factory=LinkTerms)
    link_out: LinkTerms = field(default_factory=LinkTerms)
    include_stall: bool = False
    tolerance_ns: int = 0
    tolerance_beside_ns: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What is to become different, all of it or nothing. A `released` topic is not guarded any more.

    `asking` is the key of the demands that are asked for with it; others were promised before, and become
    demands only now that somebody publishes. None: all of them.
    """

    supplies: tuple[Supply, ...] = ()
    supplies_gone: tuple[Supply, ...] = ()
    demands: tuple[Demand, ...] = ()
    demands_gone: tuple[Demand, ...] = ()
    topics: tuple[Allotted, ...] = ()
    released: tuple[str, ...] = ()
    rest: Rest | None = None
    asking: str | None = field(default=None, compare=False)

    @property
    def wishes(self) -> tuple[Demand, ...]:
        """The demands that are asked for."""
        if self.asking is None:
            return self.demands
        return tuple(demand for demand in self.demands if demand.key == self.asking)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """The latency of a flow to any subscriber of its topic; the parts add up to it.

    `topic_share` is r_k, the topic's part of the cells; `client_share` is θ_i, its client's part of the time.
    """

    client: str
    topic: str
    total_ns: int
    parts: tuple[Part, ...]
    topic_share: float
    client_share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Objection:
    """Why a change is refused: `why` is latency, overload or tolerance; whose contract would break, by what.

    `bound_ns` is what it would have got, with its `parts`, or the tolerance that it would take; None if there
    is no bound at all. `own` says that the contract that breaks is part of the change itself.
    """

    why: str
    topic: str
    client: str
    asked_ns: int | None
    bound_ns: int | None
    own: bool
    sentence: str
    parts: tuple[Part, ...] = ()
