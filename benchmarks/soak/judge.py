"""What a soak found: each contract against its bound, and whose fault a miss was."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass

from benchmarks.soak.stalls import Stall, Stalls
from benchmarks.soak.witness import MACHINE


@dataclass(frozen=True, slots=True, kw_only=True)
class Contract:
    """A subscription that was granted: `broker_bound_ns` is the bound without the links."""

    subscriber: str
    topic: str
    publishers: tuple[str, ...]
    promise_ns: int
    bound_ns: int
    broker_bound_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """What its subscriber saw from end to end; `misses` are the lives of messages beyond the bound."""

    messages: int
    p50_ns: int
    p99_ns: int
    max_ns: int
    misses: Sequence[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Peak:
    """The longest way through the broker grew to `max_ns` between two looks at it."""

    start_ns: int
    end_ns: int
    max_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One contract of the table."""

    contract: Contract
    observed: Observed
    broker_max_ns: int | None
    explained: int
    ours: int

    @property
    def ratio(self) -> float:
        """The longest way from end to end, against the whole bound."""
        return self.observed.max_ns / self.contract.bound_ns

    @property
    def broker_ratio(self) -> float | None:
        """The longest way through the broker, against the bound without links; None if it is not known."""
        return None if self.broker_max_ns is None else self.broker_max_ns / self.contract.broker_bound_ns

    def document(self) -> dict[str, object]:
        """For --json."""
        observed = asdict(self.observed)
        observed["misses"] = len(self.observed.misses)
        figures = {
            "broker_max_ns": self.broker_max_ns,
            "explained": self.explained,
            "ours": self.ours,
            "ratio": self.ratio,
            "broker_ratio": self.broker_ratio,
        }
        return {**asdict(self.contract), **observed, **figures}


def judge(
    contract: Contract,
    observed: Observed,
    peaks: Sequence[Peak],
    stalls: Iterable[tuple[str, Stall]],
) -> Row:
    """Counts misses: only stalls of the machine and of those on the message's way explain them."""
    on_the_way = {MACHINE, "broker", contract.subscriber, *contract.publishers}
    seen = list(stalls)
    ways = Stalls(stall for who, stall in seen if who in on_the_way)
    inside = Stalls(stall for who, stall in seen if who in (MACHINE, "broker"))
    missed = [
        excess_ns <= ways.within(start_ns, end_ns)
        for start_ns, end_ns, excess_ns in episodes(observed.misses, contract.bound_ns)
    ]
    beyond = [peak for peak in peaks if peak.max_ns > contract.broker_bound_ns]
    missed += [
        peak.max_ns - contract.broker_bound_ns
        <= inside.longest_within(peak.start_ns - peak.max_ns, peak.end_ns)
        for peak in beyond
    ]
    return Row(
        contract=contract,
        observed=observed,
        broker_max_ns=max((peak.max_ns for peak in peaks), default=None),
        explained=sum(missed),
        ours=len(missed) - sum(missed),
    )


def episodes(misses: Sequence[tuple[int, int]], bound_ns: int) -> Iterator[tuple[int, int, int]]:
    """For each miss since when it had a cause, its end, and by how much it was beyond the bound.

    What a stall has kept waiting is served afterwards, before what comes then. So a stall in the life of one
    late message may be the cause of the next, if that was sent while the first was on its way.
    """
    start_ns = end_ns = 0
    for sent_ns, received_ns in sorted(misses):
        if sent_ns > end_ns:
            start_ns = sent_ns
        end_ns = max(end_ns, received_ns)
        yield start_ns, received_ns, received_ns - sent_ns - bound_ns
