"""How a pipeline looks while it runs: a line on stderr with the stage, the rows and the time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from giusto.cli.exits import say

if TYPE_CHECKING:
    from rich.console import Console

    from giusto.pipeline.progress import Progress

# Where nobody looks at a line that changes, one is enough now and then.
LINE_EVERY_S = 10.0


@dataclass(slots=True)
class Screen:
    """What was seen last, and where it is shown."""

    say: Callable[[str], None] = say
    show: Callable[[Progress], None] = lambda _: None
    seen: Progress | None = None
    started_s: float = field(default_factory=time.monotonic)

    def watch(self, seen: Progress) -> None:
        """For a pipeline, to tell how far it is."""
        self.seen = seen
        self.show(seen)

    def has_begun(self) -> bool:
        """Whether it is beyond starting Spark."""
        return self.seen is not None and self.seen.has_begun

    def last(self) -> str | None:
        """The line for now, with the time since the start."""
        return None if self.seen is None else f"{line(self.seen)}, {time.monotonic() - self.started_s:.0f} s"


@contextmanager
def watched(*, live: bool) -> Iterator[Screen]:
    """Shows the progress: a line that changes if a terminal shows it, else lines."""
    from rich.console import Console

    console = Console(stderr=True)
    with changing_line(console) if live and console.is_terminal else lines() as screen:
        yield screen


@contextmanager
def changing_line(console: Console) -> Iterator[Screen]:
    """For a terminal."""
    from rich.progress import Progress as Bars
    from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Bars(*columns, console=console, transient=True) as bars:
        bar = bars.add_task("looking at the records", total=None)
        yield Screen(
            lambda text: bars.console.print(text, markup=False, highlight=False, soft_wrap=True),
            lambda seen: bars.update(bar, description=line(seen)),
        )


@contextmanager
def lines(every_s: float = LINE_EVERY_S) -> Iterator[Screen]:
    """A line after each `every_s`, also while nothing changes."""
    screen, is_over = Screen(), threading.Event()

    def go_on() -> None:
        while not is_over.wait(every_s):
            text = screen.last()
            if text is not None:
                screen.say(text)

    thread = threading.Thread(target=go_on, name="giusto-progress", daemon=True)
    thread.start()
    try:
        yield screen
    finally:
        is_over.set()
        thread.join()


def line(seen: Progress) -> str:
    """`4 of 12 topic_latency, 1,204,332 records, 402,000/s`."""
    stage = f"{seen.step} of {seen.steps} {seen.stage}" if seen.steps else seen.stage
    parts = [stage, f"{seen.rows:,} records"] if seen.has_begun else [stage]
    if seen.seconds >= 1 and seen.rows:
        parts.append(f"{seen.rate_hz:,.0f}/s")
    if seen.coming_rows:
        parts.append(f"{seen.coming_rows:,} under way")
    if seen.pending_rows:
        parts.append(f"{seen.pending_rows:,} wait ({seen.pending_bytes / 1e6:,.1f} MB)")
    if seen.late_rows:
        parts.append(f"{seen.late_rows:,} too late")
    return ", ".join(parts)
