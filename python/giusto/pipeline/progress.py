"""How far a pipeline is: what it does now, how many rows it has seen, how many wait."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

LOOKING, STARTING, READING = "looking at the records", "starting Spark", "reading"


@dataclass(frozen=True, slots=True)
class Progress:
    """One look: the stage, which one of how many, rows so far and the time since the first of them.

    A stream has no last stage; it has rows that are coming, and rows that wait for their slice to end. It
    says for what it spent its time: `settling deliveries` and the like are parts of `settling`, several of
    them at a time.
    """

    stage: str
    step: int = 0
    steps: int = 0
    rows: int = 0
    seconds: float = 0.0
    coming_rows: int = 0
    pending_rows: int = 0
    pending_bytes: int = 0
    late_rows: int = 0
    spent_s: Mapping[str, float] = field(default_factory=dict)

    @property
    def has_begun(self) -> bool:
        """Whether Spark is at work on the records."""
        return self.stage not in (LOOKING, STARTING)

    @property
    def rate_hz(self) -> float:
        """Rows per second."""
        return self.rows / self.seconds if self.seconds > 0 else 0.0


Watch = Callable[[Progress], None]


@dataclass(slots=True)
class Steps:
    """Tells of the stages of a batch, one after the other."""

    watch: Watch | None
    steps: int
    step: int = 0
    rows: int = 0
    started_s: float = field(default_factory=time.monotonic)

    def next(self, stage: str) -> None:
        """The next stage begins."""
        self.step += 1
        if self.watch is not None:
            self.watch(Progress(stage, self.step, self.steps, self.rows, self.seconds))

    @property
    def seconds(self) -> float:
        """Since the start."""
        return time.monotonic() - self.started_s
