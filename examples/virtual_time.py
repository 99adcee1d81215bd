"""A ward alarm beside a monitor that has gone mad: what each policy promises, and what is seen.

Everything runs in virtual time with the broker's own schedulers. A broker that serves first come,
first served is shown beside them: it promises nothing, and keeps that.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction

from rich.console import Console
from rich.progress import track
from rich.table import Table

from giusto.guarantee import edf, fair, smooth, twrr
from giusto.sim import Stream, Topic, serve

MS = 1_000_000
SERVICE_NS = 20_000  # what the broker needs to forward one message
SECONDS = 2
TOPICS = [
    Topic(name="ward/alarm", service_ns=SERVICE_NS, weight=3, rate=3, virtual_deadline=Fraction(1, 100),
          period_ns=10 * MS, deadline_ns=MS),
    Topic(name="ward/vitals", service_ns=SERVICE_NS, weight=4, rate=4, period_ns=MS, deadline_ns=2 * MS),
    Topic(name="ward/location", service_ns=SERVICE_NS, weight=1, rate=1, period_ns=MS, deadline_ns=5 * MS),
    Topic(name="ward/video", service_ns=SERVICE_NS, weight=2, rate=2, period_ns=MS, deadline_ns=9 * MS),
]  # fmt: skip
CLIENTS = ["bed-1", "bed-2", "bed-3"]
WEIGHTS = [topic.weight for topic in TOPICS]
RATES = [topic.rate for topic in TOPICS]
DEADLINES = [topic.virtual_deadline for topic in TOPICS]
TASKS = [(topic.service_ns, topic.period_ns, topic.deadline_ns) for topic in TOPICS]
PUBLISHERS = [1] + [len(CLIENTS)] * (len(TOPICS) - 1)
ALARM_RATE = Fraction(1, 10 * MS)

BOUNDS: dict[str, Callable[[], Fraction]] = {
    "twrr": lambda: twrr.response(WEIGHTS, PUBLISHERS, 0, 1, ALARM_RATE, SERVICE_NS),
    "smooth": lambda: smooth.response(WEIGHTS, PUBLISHERS, 0, 1, ALARM_RATE, SERVICE_NS),
    "fair": lambda: fair.response(RATES, DEADLINES, 0, 1, ALARM_RATE, SERVICE_NS),
    "edf": lambda: edf.delay(TASKS, 0, 1),
}


def streams(seed: int) -> list[Stream]:
    """One alarm line that keeps 10 ms between alarms, well-behaved beds, and a video line that floods."""
    rng = random.Random(seed)
    span_ns = SECONDS * 1_000 * MS
    alarms, at_ns = [], 0
    while (at_ns := at_ns + 10 * MS + rng.randrange(5 * MS)) < span_ns:
        alarms.append(at_ns)
    found = [Stream(topic="ward/alarm", client="bed-1", times_ns=alarms)]
    for client in CLIENTS:
        for topic, mean_ns in (("ward/vitals", MS), ("ward/location", 4 * MS)):
            times = sorted(rng.randrange(span_ns) for _ in range(span_ns // mean_ns))
            found.append(Stream(topic=topic, client=client, times_ns=times))
        flood = sorted(rng.randrange(span_ns) for _ in range(2 * span_ns // SERVICE_NS // len(CLIENTS)))
        found.append(Stream(topic="ward/video", client=client, times_ns=flood, capacity=64))
    return found


def first_come_first_served(found: list[Stream]) -> list[int]:
    """Delays of the alarms in one bounded queue for everything, 1,000 messages long."""
    arrivals = sorted((at_ns, stream.topic) for stream in found for at_ns in stream.times_ns)
    free_ns, delays = 0, []
    for at_ns, topic in arrivals:
        if free_ns - at_ns < 1_000 * SERVICE_NS:
            free_ns = max(free_ns, at_ns) + SERVICE_NS
            if topic == "ward/alarm":
                delays.append(free_ns - at_ns)
        elif topic == "ward/alarm":
            delays.append(-1)
    return delays


def milliseconds(ns: float | Fraction) -> str:
    return f"{float(ns) / MS:.3f} ms"


def row(table: Table, name: str, bound: Fraction | None, delays: list[int]) -> bool:
    """Adds a line; true if the promise was kept."""
    seen = [delay for delay in delays if delay >= 0]
    lost, worst = len(delays) - len(seen), max(seen)
    kept = bound is not None and lost == 0 and worst <= bound
    promise = "[dim]nothing[/]" if bound is None else milliseconds(bound)
    verdict = "[green]kept[/]" if kept else "[dim]-[/]" if bound is None else "[red]broken[/]"
    median = sorted(seen)[len(seen) // 2]
    table.add_row(name, promise, milliseconds(worst), milliseconds(median), str(lost), verdict)
    return kept or bound is None


def main() -> int:
    console = Console()
    found = streams(seed=7)
    count = sum(len(stream.times_ns) for stream in found)
    console.print(
        f"\n[bold]giusto[/]: {SECONDS} s of a ward in virtual time, {count:,} messages, of which "
        f"{len(found[0].times_ns)} are alarms; the video line sends twice what the broker can forward.\n"
    )
    table = Table(title="How long does an alarm take?")
    for column in ("policy", "promised", "worst seen", "median", "lost", "promise"):
        table.add_column(column, justify="left" if column == "policy" else "right")
    row(table, "[dim]one queue for all[/]", None, first_come_first_served(found))
    kept = [
        row(table, policy, bound(), serve(policy, TOPICS, found).delays_ns("ward/alarm"))
        for policy, bound in track(BOUNDS.items(), description="serving", transient=True, console=console)
    ]
    console.print(table)
    return 0 if all(kept) else 1


if __name__ == "__main__":
    raise SystemExit(main())
