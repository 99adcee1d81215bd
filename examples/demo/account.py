"""What became of the promises: each beside the worst that was seen, and whose fault a broken one is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf

from live import TOLERANCE_MS, Client, Witness
from rich.console import Console
from rich.table import Table
from ward import FLOODER, ROLES, SLICE_S

import giusto
from giusto.protocol import TopicStatus

COLUMNS = ("promise", "bound at\nthe end", "worst in\nbroker", "p50\ncalm", "p50\nflood", "worst", "lost")


@dataclass(frozen=True)
class Kept:
    """A topic at the end, in milliseconds; `inside_ms` is the longest that a message was in the broker."""

    promise_ms: float | None
    bound_ms: float | None
    inside_ms: float
    policed: int


def account(address: str) -> dict[str, Kept]:
    """Every topic, as the broker sees it."""
    with giusto.connect(address) as bus:
        return {topic.topic: kept(topic, bus.explain(topic.topic)) for topic in bus.status().topics}


def kept(topic: TopicStatus, why: giusto.Explanation) -> Kept:
    promise_ms = min((each.promise_ns / 1e6 for each in why.promises), default=None)
    bound_ms = max((flow.bound_ns / 1e6 for flow in why.flows), default=None)
    return Kept(promise_ms, bound_ms, topic.delay_max_ns / 1e6, topic.counters["policed"])


def summary(clients: Sequence[Client], found: dict[str, Kept]) -> Table:
    """Each promise beside the worst that was seen."""
    table = Table(title="What was promised, and what was seen, in ms", title_justify="left")
    table.add_column("client")
    for column in COLUMNS:
        table.add_column(column, justify="right")
    for one in clients:
        style = "bold" if one.role.promised else ""
        table.add_row(one.name, *figures(one, found[one.role.topic]), style=style)
    return table


def figures(one: Client, found: Kept) -> list[str]:
    """The row of one client."""
    p50 = [sorted(each["p50"] for each in one.during(name)) for name in ("calm", "flood")]
    return [
        *("–" if term is None else f"{term:.2f}" for term in (found.promise_ms, found.bound_ms)),
        f"{found.inside_ms:.2f}",
        *(f"{each[len(each) // 2]:.2f}" if each else "–" for each in p50),
        f"{one.worst_ms:.2f}",
        f"{one.lost:,}",
    ]


@dataclass(frozen=True)
class Fault:
    """What went wrong, and for how long the machine stood still then; `enough_ms` would explain it."""

    what: str
    stood_ms: float
    enough_ms: float

    @property
    def is_ours(self) -> bool:
        """Whether the machine is no reason for it."""
        return self.stood_ms < self.enough_ms

    def __str__(self) -> str:
        stood = f"The machine stood still for {self.stood_ms:.1f} ms meanwhile"
        return f"{self.what}. {stood}, which " + (
            "does not explain it." if self.is_ours else "no bound contains."
        )


def judge(console: Console, clients: Sequence[Client], found: dict[str, Kept], witness: Witness) -> bool:
    """Say what became of the promises; whether none of them was broken by the broker."""
    held = [(one, found[one.role.topic]) for one in clients if one.role.promised]
    policed = found[ROLES[FLOODER].topic].policed
    lost = sum(one.lost for one, _ in held)
    console.print(
        f"The broker turned away [bold]{policed:,}[/] messages beyond the camera's offer of "
        f"{ROLES[FLOODER].rate_hz:,}/s; the topics under contract lost [bold]{lost:,}[/]."
    )
    faults = [list(faults_of(one, kept, witness)) for one, kept in held]
    are_explained = [explained(console, several) for several in faults]
    return policed > 0 and all(are_explained)


def explained(console: Console, faults: Sequence[Fault]) -> bool:
    """Say the worst of what went wrong, if anything did; whether the machine is the reason for all of it."""
    if faults:
        worst = max(faults, key=lambda fault: (fault.is_ours, fault.enough_ms))
        console.print(f"{worst} {len(faults) - 1} more were less bad." if len(faults) > 1 else str(worst))
    return not any(fault.is_ours for fault in faults)


def faults_of(one: Client, kept: Kept, witness: Witness) -> Iterator[Fault]:
    """Slices of time in which messages were late, or did not come."""
    for number, seen in enumerate(one.slices):
        until_ns = one.start_ns + (number + 1) * SLICE_S * 1e9
        # What came in this slice was sent so much earlier; what is missing is seen by what comes next.
        since_ns = until_ns - 2 * SLICE_S * 1e9 - seen["max"] * 1e6
        stood_ms = witness.stood_ms(since_ns, until_ns)
        over_ms = seen["max"] - (kept.bound_ms or 0)
        if over_ms > 0:
            yield Fault(f"{one.name}: a message was {over_ms:.1f} ms above its bound", stood_ms, over_ms)
        if seen["lost"]:
            # Turned away, if it came too soon after others; otherwise nothing explains it.
            enough_ms = TOLERANCE_MS if one.lost <= kept.policed else inf
            yield Fault(f"{one.name}: {seen['lost']:.0f} messages did not come", stood_ms, enough_ms)
