"""What a simulated network did: records, counters, money, and figures of every part."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from giusto import _core
from giusto.contract.duration import show_ns
from giusto.errors import InvalidInput
from giusto.record import to_table
from giusto.sim.scenario import Scenario
from giusto.sim.topics import TopicFigures, figures

if TYPE_CHECKING:
    import pyarrow as pa


class SubscriberFigures(NamedTuple):
    """What became of the messages for one subscriber; `ideal` is how many it should have received in time."""

    name: str
    ideal: int
    delivered: int
    late: int
    expired: int
    overflow: int
    lost: int
    delay_max_ns: int
    delay_sum_ns: int

    @property
    def delay_mean_ns(self) -> float | None:
        """Of what arrived, in time or late."""
        arrived = self.delivered + self.late
        return self.delay_sum_ns / arrived if arrived else None


class LinkFigures(NamedTuple):
    """What a link did; `waiting_max` is the most messages that waited at once."""

    name: str
    sent: int
    busy_ns: int
    waiting_max: int
    expired: int
    overflow: int
    lost: int


class BrokerFigures(NamedTuple):
    """What a broker did; quanta, busy time and waiting are those of its processor."""

    name: str
    forwarded: int
    quanta: int
    busy_ns: int
    waiting_max: int
    overflow: int
    lost: int


class MediumFigures(NamedTuple):
    """What happened on a shared wire."""

    name: str
    sent: int
    collisions: int
    lost: int


@dataclass(frozen=True, kw_only=True)
class Run:
    """One execution of a scenario. `seconds` is how long it took to compute."""

    scenario: Scenario = field(repr=False)
    seed: int
    until_ns: int
    seconds: float
    outcome: _core.NetworkRun = field(repr=False)

    @cached_property
    def counters(self) -> dict[str, int]:
        """Published, policed, ideal, delivered, late, expired, overflow, lost, unfinished, hops, events, …"""
        return self.outcome.counters

    @cached_property
    def records(self) -> pa.Table:
        """The records, in the schema of `giusto.record` and in the order in which things ended."""
        return to_table(self.outcome.batches())

    @property
    def success_rate(self) -> float | None:
        """(15) of S1: deliveries in time among those that there should have been; None if there were none."""
        return self.outcome.success_rate

    @property
    def total_earning(self) -> float:
        """(1) of S1: prices of deliveries in time, less the penalties of the others."""
        return self.outcome.total_earning

    @property
    def ideal_earning(self) -> float:
        """The same if everything had arrived in time."""
        return self.outcome.ideal_earning

    @property
    def ended_ns(self) -> int:
        """The instant of the last event; 0 if nothing happened."""
        return self.outcome.ended_ns

    @cached_property
    def topics(self) -> list[TopicFigures]:
        """One for each topic, as far as there are records: none without them."""
        if not len(self.records):
            return []
        return figures(self.records, [topic.name for topic in self.scenario.all_topics])

    @cached_property
    def subscribers(self) -> list[SubscriberFigures]:
        """One for each subscriber of the scenario, in its order."""
        names = [subscriber.name for subscriber in self.scenario.subscribers]
        return [SubscriberFigures(**row) for row in _rows(names, self.outcome.totals)]

    @cached_property
    def links(self) -> list[LinkFigures]:
        """One for each link."""
        names = [link.label for link in self.scenario.links]
        return [LinkFigures(**row) for row in _rows(names, self.outcome.links)]

    @cached_property
    def brokers(self) -> list[BrokerFigures]:
        """One for each broker."""
        names = [broker.name for broker in self.scenario.brokers]
        return [BrokerFigures(**row) for row in _rows(names, self.outcome.brokers)]

    @cached_property
    def media(self) -> list[MediumFigures]:
        """One for each medium."""
        names = [medium.name for medium in self.scenario.media]
        return [MediumFigures(**row) for row in _rows(names, self.outcome.media)]

    def to_dict(self) -> dict[str, Any]:
        """The run as plain values, without its records."""
        return {
            "scenario": self.scenario.name,
            "seed": self.seed,
            "until_ns": self.until_ns,
            "ended_ns": self.ended_ns,
            "success_rate": self.success_rate,
            "total_earning": self.total_earning,
            "ideal_earning": self.ideal_earning,
            **self.counters,
            "seconds": self.seconds,
        }

    def save(self, folder: str | Path) -> None:
        """Write the records as a trace, `run.json` and `scenario.toml` into a folder, new or not.

        A scenario with a policy written in Python has no TOML, and so no `scenario.toml`.
        """
        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        self.write_trace(path)
        said = json.dumps(self.to_dict(), indent=2, ensure_ascii=False)
        (path / "run.json").write_text(said + "\n", encoding="utf-8")
        try:
            (path / "scenario.toml").write_text(self.scenario.to_toml(), encoding="utf-8")
        except InvalidInput:
            # One of an earlier run would be taken for that of this one.
            (path / "scenario.toml").unlink(missing_ok=True)

    def write_trace(self, folder: str | Path) -> None:
        """Write the records as a broker writes them: a trace folder."""
        from giusto.sim.tracing import write_trace

        dropped = self.counters["records_dropped"]
        write_trace(Path(folder), self.scenario, self.seed, self.outcome.batches(), dropped)

    def __str__(self) -> str:
        counts = self.counters
        spans = f"{show_ns(self.until_ns)} simulated in {self.seconds:.3g} s"
        ends = [f"{name} {counts[name]:,}" for name in _ENDINGS if counts[name]]
        lines = [
            f"{self.scenario.name}, seed {self.seed}: {spans}",
            f"  published {counts['published']:,}, policed {counts['policed']:,}",
            f"  deliveries {counts['ideal']:,}: {', '.join(ends) or 'nothing was to be delivered'}",
        ]
        if self.success_rate is not None:
            lines.append(f"  success rate {self.success_rate:.2%}")
        if self.ideal_earning:
            lines.append(f"  earning {self.total_earning:,.1f} of {self.ideal_earning:,.1f}")
        return "\n".join(lines)


_ENDINGS = ("delivered", "late", "expired", "overflow", "lost", "unfinished")


def _rows(names: list[str], columns: dict[str, list[int]]) -> list[dict[str, Any]]:
    """A dictionary for each name, of the lists that have an entry per name."""
    return [
        {"name": name, **{column: values[n] for column, values in columns.items()}}
        for n, name in enumerate(names)
    ]
