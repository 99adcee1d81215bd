"""How a pipeline looks while it runs: a line on stderr with the stage, the rows and the time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from giusto.cli.exits import say

if TYPE_CHECKING:
    from giusto.pipeline.progress import Progress

# Where nobody looks at a line that changes, one is enough now and then.
LINE_EVERY_S = 10.0


@contextmanager
def watched(*, live: bool) -> Iterator[Callable[[Progress], None]]:
    """What to tell of the progress: a line that changes if a terminal shows it, else lines."""
    from rich.console import Console

    console = Console(stderr=True)
    if not live or not console.is_terminal:
        yield lines()
        return
    from rich.progress import Progress as Bars
    from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Bars(*columns, console=console, transient=True) as bars:
        bar = bars.add_task("starting Spark", total=None)
        yield lambda seen: bars.update(bar, description=line(seen))


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
    """`4 of 12 topic_latency, 1,204,332 records, 402,000/s`."""
    stage = f"{seen.step} of {seen.steps} {seen.stage}" if seen.steps else seen.stage
    parts = [stage, f"{seen.rows:,} records"]
    if seen.seconds >= 1 and seen.rows:
        parts.append(f"{seen.rate_hz:,.0f}/s")
    if seen.pending_rows:
        parts.append(f"{seen.pending_rows:,} wait ({seen.pending_bytes / 1e6:,.1f} MB)")
    if seen.late_rows:
        parts.append(f"{seen.late_rows:,} too late")
    return ", ".join(parts)
