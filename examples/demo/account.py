"""What became of the promises: each beside the worst that was seen, and whose fault a broken one is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from live import TOLERANCE_MS, Client, Witness
from rich.console import Console
from rich.table import Table
from ward import FLOODER, ROLES

import giusto
from giusto.protocol import TopicStatus


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
    for column in ("promise", "bound", "worst in\nbroker", "p50\ncalm", "p50\nflood", "worst", "lost"):
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


def judge(console: Console, clients: Sequence[Client], found: dict[str, Kept], witness: Witness) -> bool:
    """Say what became of the promises; whether none of them was broken by the broker."""
    held = [(one, found[one.role.topic]) for one in clients if one.role.promised]
    policed = found[ROLES[FLOODER].topic].policed
    lost = sum(one.lost for one, _ in held)
    console.print(
        f"The broker turned away [bold]{policed:,}[/] messages beyond the camera's offer of "
        f"{ROLES[FLOODER].rate_hz:,}/s; the topics under contract lost [bold]{lost:,}[/]."
    )
    for one, kept in held:
        over_ms = one.worst_ms - (kept.bound_ms or 0)
        if over_ms > 0:
            console.print(f"{one.name}: a message was {over_ms:.1f} ms above its bound. {excuse(witness)}")
        if one.lost:
            console.print(
                f"{one.name}: {kept.policed} messages came too soon after others. {excuse(witness)}"
            )
    return policed > 0 and not any(broken(one, kept, witness) for one, kept in held)


def broken(one: Client, kept: Kept, witness: Witness) -> bool:
    """Whether the broker broke its promise: messages that were late, or lost without having come too soon."""
    too_soon = 0 if ours(TOLERANCE_MS, witness) else kept.policed
    return ours(one.worst_ms - (kept.bound_ms or 0), witness) or one.lost > too_soon


def excuse(witness: Witness) -> str:
    """What no bound contains."""
    stood_ms = f"{witness.worst_ms:.1f} ms"
    return f"The machine itself stood still for up to {stood_ms} meanwhile, which no bound contains."


def ours(over_ms: float, witness: Witness) -> bool:
    """Whether a message was so late that the machine is no excuse."""
    return over_ms > 2 * witness.worst_ms + 5
