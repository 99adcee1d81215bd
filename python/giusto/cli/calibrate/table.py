"""A calibration for people: what a message costs, what the machine adds, and what follows from it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Group
from rich.table import Table
from rich.text import Text

from giusto.contract import show_ns
from giusto.guarantee.book import Book
from giusto.guarantee.costs import Costs
from giusto.guarantee.measured import CALLS, Calibration, Point, Stalls
from giusto.guarantee.model import Allotted, Change, LinkTerms, Setting, Supply

if TYPE_CHECKING:
    from rich.console import RenderableType

FANOUTS = (1, 4, 16, 64)
SMALL_BYTES = 64
BUSY_PERCENT = 1
"""More stalls than that are no exception any more."""
SECOND_NS = 1_000_000_000


def report(found: Calibration, path: Path) -> RenderableType:
    """All of it, in the order in which it is read."""
    return Group(heading(found), messages(found), pieces(found), stalls(found.stalls), meaning(found, path))


def heading(found: Calibration) -> Text:
    """Which machine, and how sure."""
    here = found.machine
    text = Text(f"{here.cpu}, {here.cores} processors, {here.kernel}, clock {here.clock}\n", "bold")
    text.append(
        f"Costs that cover {found.percentile:g} % of cases, with {found.confidence:g} % confidence, "
        f"from {found.samples:,} samples in {found.seconds:g} s.",
        "not bold",
    )
    return text


def messages(found: Calibration) -> Table:
    """What a message costs the broker, by size; T_q also by the number of subscribers."""
    table = made_table("a message of", "take", "write", *(f"T_q {n}" for n in FANOUTS))
    costs, of = found.costs, points_by_kind(found)
    for size in sorted({point.work.size_bytes for point in of["take"]}):
        quanta = (micros(costs.serve_ns(size, n)) for n in FANOUTS)
        table.add_row(
            bytes_of(size),
            both(point for point in of["take"] if point.work.size_bytes == size),
            both(point for point in of["write"] if point.work.size_bytes == size),
            *quanta,
        )
    table.caption = (
        "µs: median → cost, ! from too few samples; T_q n: a quantum for n subscribers, as admission has it"
    )
    table.caption_justify = "left"
    return table


def pieces(found: Calibration) -> Table:
    """The rest of the data thread's work, and the way to other programs."""
    table = made_table("", "median", "cost", "max")
    names = {"turn": "a turn that finds nothing", "hop": "from one program to another that sleeps"}
    names |= dict.fromkeys(CALLS, "a call of the control plane")
    for name in dict.fromkeys(names.values()):
        points = [point for point in found.points if names.get(point.work.kind) == name]
        top = max(points, key=lambda point: point.cost_ns)
        table.add_row(name, micros(top.median_ns), micros(top.cost_ns), micros(top.max_ns))
    table.add_row("each comparison of a filter", "", micros(found.costs.filter_ns), "")
    table.add_row("each further frame in a read", "", micros(found.costs.frame_ns), "")
    return table


def stalls(seen: Stalls) -> Table:
    """How late the machine itself is."""
    table = made_table("the machine is late by", "p50", "p99", "p99.9", "max")
    values = (seen.p50_ns, seen.p99_ns, seen.p99_9_ns, seen.max_ns)
    table.add_row(f"{seen.samples:,} looks in {seen.seconds:.1f} s", *map(micros, values))
    return table


def meaning(found: Calibration, path: Path) -> Text:
    """What follows, and how to use it."""
    costs = found.costs
    each_ns = costs.take_ns(SMALL_BYTES) + costs.serve_ns(SMALL_BYTES, 1) + 2 * costs.turn_ns
    text = Text(
        f"Contracts can have {SECOND_NS // each_ns:,} small messages a second, with one subscriber each. "
    )
    text.append(f"No bound will be below {show_ns(least_bound_ns(costs))}.\n")
    text.append("No bound contains what the machine adds by itself: ")
    text.append(f"up to {show_ns(found.stalls.max_ns)} in these {found.stalls.seconds:.1f} s.\n")
    text.append_text(set_aside(found))
    if found.uncertain:
        few = len(found.uncertain)
        text.append(
            f"{few} of {len(found.points)} points had too few samples: their largest one was taken. "
            "More --seconds would help.\n",
            "yellow",
        )
    text.append(f"Written to {path}. A broker uses it with\n")
    text.append(f'  [guarantee]\n  calibration = "{path}"', "bold")
    return text


def set_aside(found: Calibration) -> Text:
    """How many samples were no cost of the work, and whether that is too many to believe the others."""
    hits, samples = found.stalls.hits, found.samples
    is_busy = hits * 100 > samples * BUSY_PERCENT
    text = Text(f"{hits:,} stalls were set aside from {samples:,} samples")
    if is_busy:
        text.append(
            f" ({hits * 100 / samples:.1f} %): the machine was busy, calibrate again when it is quiet"
        )
    text.append(".\n")
    text.stylize("yellow" if is_busy else "")
    return text


def least_bound_ns(costs: Costs) -> int:
    """The bound of one small message now and then, when that is all that is guarded."""
    hop = LinkTerms(delay_ns=costs.hop_ns)
    book = Book(Setting(costs=costs, link_in=hop, link_out=hop))
    rare = Supply(client="one", topic="one", count=1, period_ns=10 * SECOND_NS, size_bytes=SMALL_BYTES)
    book.commit(Change(supplies=(rare,), topics=(Allotted(topic="one", fanout=1),)))
    return book.bound("one", "one").total_ns


def points_by_kind(found: Calibration) -> dict[str, list[Point]]:
    """The points of each kind of work."""
    kinds: defaultdict[str, list[Point]] = defaultdict(list)
    for point in found.points:
        kinds[point.work.kind].append(point)
    return kinds


def made_table(first: str, *others: str) -> Table:
    """A table of figures with a name in front."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column(first)
    for name in others:
        table.add_column(name, justify="right")
    return table


def both(points: Iterable[Point]) -> str:
    """The point with the largest cost, as median and cost."""
    top = max(points, key=lambda point: point.cost_ns)
    return f"{micros(top.median_ns)} → {micros(top.cost_ns)}{'' if top.certain else ' !'}"


def micros(ns: int) -> str:
    """Microseconds with as many digits as mean something."""
    value = ns / 1_000
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 1 else f"{value:.2f}"


def bytes_of(count: int) -> str:
    """A size for people."""
    for unit, factor in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= factor:
            return f"{count // factor} {unit}"
    return f"{count} bytes"
