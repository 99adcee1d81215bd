"""A soak for people: the table at the end, and a line while it runs."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.soak.cast import Cast
from benchmarks.soak.judge import Row
from rich.table import Table

from giusto.guarantee.model import Setting

COLUMNS = (
    ("contract", "left"),
    ("promise", "right"),
    ("bound", "right"),
    ("messages", "right"),
    ("p50", "right"),
    ("p99", "right"),
    ("max", "right"),
    ("max/bound", "right"),
    ("in the broker", "right"),
    ("explained", "right"),
    ("ours", "right"),
)


def ms(ns: int) -> str:
    return f"{ns / 1e6:.3f}"


def table(rows: Sequence[Row]) -> Table:
    """One line for each contract."""
    result = Table(title="Contracts, in milliseconds", title_justify="left")
    for name, side in COLUMNS:
        result.add_column(name, justify="left" if side == "left" else "right")
    for row in sorted(rows, key=lambda row: (row.contract.topic, row.contract.subscriber)):
        contract, observed = row.contract, row.observed
        inside = "-" if row.broker_ratio is None else f"{row.broker_ratio:.1%}"
        times = (contract.promise_ns, contract.bound_ns), (observed.p50_ns, observed.p99_ns, observed.max_ns)
        result.add_row(
            f"{contract.subscriber} on {contract.topic}",
            *map(ms, times[0]),
            f"{observed.messages:,}",
            *map(ms, times[1]),
            f"{row.ratio:.1%}",
            inside,
            f"{row.explained:,}",
            f"{row.ours:,}",
            style="red" if row.ours else "",
        )
    return result


def introduction(cast: Cast, setting: Setting) -> str:
    """What is about to happen."""
    return (
        f"{setting.input}, {setting.costs.basis}: "
        f"{sum(cast.contracts.values())} contracts on {len(cast.contracts)} topics, "
        f"{cast.rate_hz:,.0f} messages/s, {cast.load:.0%} of the largest rates that are admitted, "
        f"guarded utilisation {cast.utilisation:.0%}; beside them a flood, a subscriber that never reads "
        f"and a publisher that breaks its offer"
    )


def progress(seconds: float, of_seconds: float, messages: int, ratio: float, misses: int) -> str:
    """How it goes."""
    return (
        f"{seconds:5.0f} of {of_seconds:.0f} s: {messages:,} messages, "
        f"largest max/bound {ratio:.1%}, {misses:,} beyond the bound"
    )


def summary(rows: Sequence[Row], stalls: Sequence[int], policed: int, breaker: int, flooded: int) -> str:
    """The figures that belong to no contract."""
    longest = f"{max(stalls) / 1e6:.2f} ms the longest" if stalls else "no long one"
    explained, ours = sum(row.explained for row in rows), sum(row.ours for row in rows)
    return (
        f"{flooded:,} messages of the flood; {breaker:,} messages beyond an offer turned away, "
        f"{policed:,} of honest publishers; {len(stalls):,} stalls of the machine, {longest}; "
        f"{explained:,} misses explained by stalls, {ours:,} ours"
    )
