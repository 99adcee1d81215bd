"""What is simulated, as plain values that nothing has run yet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from giusto.contract.duration import Duration
from giusto.sim.fault import Fault
from giusto.sim.keeping import Nanoseconds, settle, settle_list
from giusto.sim.medium import Medium
from giusto.sim.network import Broker, Link, Publisher, Subscriber
from giusto.sim.topic import Topic

LISTS = ("brokers", "links", "publishers", "subscribers", "topics", "media", "faults")


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """A network, and all that happens in it until publishers stop at `until`.

    Parts refer to each other by name. If no topics are given, they are those that publishers name.
    """

    until: Duration
    brokers: Sequence[Broker]
    links: Sequence[Link] = ()
    publishers: Sequence[Publisher] = ()
    subscribers: Sequence[Subscriber] = ()
    topics: Sequence[Topic] = ()
    media: Sequence[Medium] = ()
    faults: Sequence[Fault] = ()
    name: str = "sim"

    until_ns = Nanoseconds()

    def __post_init__(self) -> None:
        settle(self, "until", least_ns=1)
        settle_list(self, *LISTS)

    @property
    def all_topics(self) -> tuple[Topic, ...]:
        """The topics, said or implied."""
        if self.topics:
            return tuple(self.topics)
        return tuple(Topic(name=name) for name in dict.fromkeys(each.topic for each in self.publishers))

    def run_name(self, seed: int) -> str:
        """What records call a run of it: with another seed it is another run."""
        return f"{self.name}.{seed}"

    def check(self) -> None:
        """Raise `InvalidInput` for the first thing that cannot run, with its path: `links[3].target`."""
        from giusto.sim.checking import check

        check(self)

    @classmethod
    def from_toml(cls, text: str) -> Scenario:
        """The scenario that a TOML text describes."""
        from giusto.sim.reading import from_toml

        return from_toml(text)

    @classmethod
    def read(cls, path: str | Path) -> Scenario:
        """The scenario of a TOML file."""
        from giusto.sim.reading import read

        return read(path)

    def to_toml(self) -> str:
        """The text from which `from_toml` makes an equal scenario."""
        from giusto.sim.writing import to_toml

        return to_toml(self)
