"""What is measured, in which order and for how long each: in rounds, so that one bad moment spoils no point.

The first round gives every task the same time. After it is known how long a sample of each takes, and the
others give more time to those that still lack samples.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from giusto.guarantee.measured import Work

SIZES_BYTES = (64, 256, 1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 20)
FANOUTS = (0, 1, 2, 4, 16, 64)
FANOUT_BYTES_MAX = 2 << 20  # beyond that a point would take all the time
FILTERS = 1_000
FRAMES = 287  # of the smallest ones, which fill a read
TOPICS = 1_000
HOP_BYTES = 64
ROUNDS = 4
STALL_PART = 4  # the machine is watched, without any work, for a quarter of the time
SLICE_NS_MAX = 500_000_000  # Ctrl-C waits for the end of one
SLICE_NS_MIN = 1_000_000
SLICE_NS_LAST = 100_000_000  # for work of which nothing was seen
LAST_TRIES = 10

Measured = Mapping[str, tuple[Sequence[int], Sequence[int]]]
"""By what was done: how long it took each time, and for how much of that the system ran something else."""
Measure = Callable[["Task", int], Measured]

ONE_BY_ONE = {"take", "write"}
"""Work on one message for one client, the same however many subscribers there are."""


class Task(NamedTuple):
    """A call of the native core: what it does, with which size and number."""

    name: str
    size_bytes: int = 0
    number: int = 0

    def work(self, kind: str) -> Work:
        """The point that samples of a kind belong to."""
        alone = self.name == "calls" or kind in ONE_BY_ONE
        return Work(kind, self.size_bytes, 0 if alone else self.number)


STALLS = Task("stalls")


def tasks() -> list[Task]:
    """All but the stalls."""
    paths = [
        Task("path", size, fanout)
        for size in SIZES_BYTES
        for fanout in FANOUTS
        if size * fanout <= FANOUT_BYTES_MAX
    ]
    reads = [Task("frame", 0, FRAMES), Task("excess", 0, FRAMES)]
    others = [Task("turn"), Task("calls", 0, TOPICS), Task("hop", HOP_BYTES)]
    return [*paths, Task("filter", 0, FILTERS), *reads, *others]


@dataclass
class Yield:
    """What came of a task so far; `samples` are those of the kind that has least."""

    spent_ns: int = 0
    samples: int = 0


def slices(total_ns: int, yields: Sequence[Yield], needed: int) -> list[int]:
    """How the time of a round is shared: by what each needs for its missing samples, and a little for all."""
    even = total_ns // len(yields)
    if not any(done.samples for done in yields):
        return [max(SLICE_NS_MIN, even)] * len(yields)
    wanted = [
        done.spent_ns * max(needed - done.samples, needed // 10) // max(1, done.samples) for done in yields
    ]
    whole = max(1, sum(wanted))
    return [max(SLICE_NS_MIN, even // 4 + total_ns * 3 * want // (4 * whole)) for want in wanted]


@dataclass
class Findings:
    """All samples so far. Time in which the system ran something else is a stall, not a cost of the work."""

    samples: dict[Work, list[int]] = field(default_factory=lambda: defaultdict(list))
    stalls_ns: list[int] = field(default_factory=list)
    stall_spent_ns: int = 0
    away_ns: list[int] = field(default_factory=list)

    def add(self, task: Task, found: Measured) -> int:
        """Keep samples; returns how many there were of the kind that has least."""
        for kind, (whole_ns, away_ns) in found.items():
            if whole_ns:
                worked = (whole - away for whole, away in zip(whole_ns, away_ns, strict=True))
                self.samples[task.work(kind)].extend(worked)
                self.away_ns.extend(filter(None, away_ns))
        return min((len(whole_ns) for whole_ns, _ in found.values() if whole_ns), default=0)


def run(total_ns: int, needed: int, measure: Measure, findings: Findings) -> Iterator[int]:
    """Measure all tasks; yields the nanoseconds that were planned for each step when it is done."""
    course, yields = tasks(), [Yield() for _ in tasks()]
    for _ in range(ROUNDS):
        yield from watch(total_ns // STALL_PART // ROUNDS, measure, findings)
        shares = slices((total_ns - total_ns // STALL_PART) // ROUNDS, yields, needed)
        for task, done, share_ns in zip(course, yields, shares, strict=True):
            for slice_ns in cut(share_ns):
                done.samples += findings.add(task, measure(task, slice_ns))
                done.spent_ns += slice_ns
                yield slice_ns
    for task, done in zip(course, yields, strict=True):
        for _ in range(0 if done.samples else LAST_TRIES):
            # Its time was over before it had warmed up.
            done.samples += findings.add(task, measure(task, SLICE_NS_LAST))
            yield 0
            if done.samples:
                break


def watch(total_ns: int, measure: Measure, findings: Findings) -> Iterator[int]:
    """Look how late the machine is while nothing else is measured."""
    for slice_ns in cut(total_ns):
        for late_ns, _ in measure(STALLS, slice_ns).values():
            findings.stalls_ns += late_ns
        findings.stall_spent_ns += slice_ns
        yield slice_ns


def cut(total_ns: int) -> list[int]:
    """A time in equal parts, none too long."""
    parts = max(1, -(-total_ns // SLICE_NS_MAX))
    return [total_ns // parts] * parts
