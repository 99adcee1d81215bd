"""How a sweep looks while it runs: runs done, failed, the rate and the time left, on stderr."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from giusto.cli.exits import say

if TYPE_CHECKING:
    from giusto.pipeline.sweep import Progress

# Where nobody looks at a bar, a line is enough now and then.
LINE_EVERY_S = 10.0


@contextmanager
def watched(*, live: bool) -> Iterator[Callable[[Progress], None]]:
    """What to tell of the progress: a bar if a terminal shows it, else lines."""
    from rich.console import Console

    console = Console(stderr=True)
    if not live or not console.is_terminal:
        yield lines()
        return
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[told]}"))
    with Bars(*columns, console=console, transient=True) as bars:
        bar = bars.add_task("starting Spark", total=None, told="")

        def tell(seen: Progress) -> None:
            bars.update(bar, description="running", total=seen.total, completed=seen.done, told=line(seen))

        yield tell


def lines() -> Callable[[Progress], None]:
    """A line for each look that comes some time after the last."""
    last_s = time.monotonic()

    def tell(seen: Progress) -> None:
        nonlocal last_s
        if time.monotonic() - last_s >= LINE_EVERY_S:
            last_s = time.monotonic()
            say(line(seen))

    return tell


def line(seen: Progress) -> str:
    """`412 of 500 runs, 3 failed, 85/s, 0:01 left`."""
    parts = [f"{seen.done:,} of {seen.total:,} runs"]
    if seen.failed:
        parts.append(f"{seen.failed:,} failed")
    if seen.left_s is not None:
        parts += [show_rate(seen.rate_hz), f"{show_time(seen.left_s)} left"]
    return ", ".join(parts)


def show_rate(rate_hz: float) -> str:
    """Runs per second, per minute or per hour, in few digits."""
    for unit, seconds in (("s", 1), ("min", 60)):
        if rate_hz * seconds >= 1:
            return f"{rate_hz * seconds:,.{0 if rate_hz * seconds >= 10 else 1}f}/{unit}"
    return f"{rate_hz * 3600:,.1f}/h"


def show_time(seconds: float) -> str:
    """Hours, minutes and seconds."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
