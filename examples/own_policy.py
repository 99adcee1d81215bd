"""Policies of your own beside giusto's: one that chooses for a link, one that chooses for a processor.

Everything runs in virtual time. A policy written in Python is slower, and good for trying an idea out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from giusto.sim import (
    Broker,
    Normal,
    Poisson,
    Processor,
    Publisher,
    Run,
    Scenario,
    Subscriber,
    Topic,
    chain,
    run,
)


class Worth:
    """For a link: what earns most per byte goes first, unless it is too late for it."""

    def __init__(self) -> None:
        self.waiting: dict[int, tuple[Any, Sequence[Any]]] = {}

    def push(self, number: int, message: Any, terms: Sequence[Any]) -> None:
        self.waiting[number] = (message, terms)

    def choose(self, now_ns: int) -> int:
        return max(self.waiting, key=lambda number: (self.worth(number, now_ns), -number))

    def remove(self, number: int) -> None:
        del self.waiting[number]

    def worth(self, number: int, now_ns: int) -> float:
        message, terms = self.waiting[number]
        age_ns = now_ns - message.published_ns
        return sum(each.price for each in terms if age_ns < each.deadline_ns) / message.size_bytes


class Oldest:
    """For a processor: the message that has waited longest goes first, whatever its topic."""

    lanes = "flow"

    def __init__(self) -> None:
        self.oldest_ns: dict[int, int] = {}

    def allot(self, topic: int, share: Any) -> None:
        """Shares do not matter here."""

    def join(self, topic: int, flow: int) -> None:
        """Nor does who may come."""

    def arrived(self, lane: int, topic: int, oldest_ns: int) -> None:
        self.oldest_ns[lane] = oldest_ns

    def choose(self, now_ns: int) -> int:
        return min(self.oldest_ns, key=lambda lane: (self.oldest_ns[lane], lane))

    def served(self, lane: int, oldest_ns: int | None) -> None:
        if oldest_ns is None:
            del self.oldest_ns[lane]
        else:
            self.oldest_ns[lane] = oldest_ns


def scenario(
    link: str | Callable[[], Worth] = "fifo", processor: str | Callable[[], Oldest] = "twrr"
) -> Scenario:
    """Two brokers; alarms, vitals and video share a link that is a little too slow for all of them."""
    pair = chain(2, delay=Normal(mean_per_kb="4ms", deviation_per_kb="1ms"), policy=link)
    served = Broker(name="b1", processor=Processor(policy=processor))
    kinds = {"alarm": ("10/s", 200, 7), "vitals": ("100/s", 500, 4), "video": ("30/s", 8_000, 1)}
    terms = {"alarm": ("20ms", 10), "vitals": ("100ms", 1), "video": ("300ms", 2)}
    return Scenario(
        until="20s",
        brokers=(served, pair.brokers[1]),
        links=pair.links,
        topics=[Topic(name=name, service_ns=6_000_000) for name in kinds],
        publishers=[
            Publisher(
                name=name,
                broker="b1",
                topic=name,
                workload=Poisson(rate=rate),
                size_bytes=size_bytes,
                priority=priority,
            )
            for name, (rate, size_bytes, priority) in kinds.items()
        ],
        subscribers=[
            Subscriber(name=name, broker="b2", pattern=name, deadline=deadline, price=price)
            for name, (deadline, price) in terms.items()
        ],
    )


def row(table: Table, name: str, result: Run) -> None:
    success = [f"{each.delivered / each.ideal:.1%}" for each in result.subscribers]
    table.add_row(name, *success, f"{result.total_earning:,.0f}")


def main() -> int:
    table = Table(title="Deliveries in time, and what they earn")
    for column in ("policy of the link", "alarm", "vitals", "video", "earning"):
        table.add_column(column, justify="left" if column.startswith("policy") else "right")
    for policy in ("fifo", "priority", "lrt", "mtep"):
        row(table, policy, run(scenario(policy), seed=1))
    row(table, "[bold]Worth[/], written here", run(scenario(Worth), seed=1))
    row(table, "the same, and [bold]Oldest[/] instead of twrr", run(scenario(Worth, Oldest), seed=1))
    Console().print(table)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
