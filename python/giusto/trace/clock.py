"""How the clock of the records and the time of day are apart."""

from __future__ import annotations

import time


def wall_offset_ns() -> int:
    """What is to be added to an instant of a record to get the time of day."""
    return time.time_ns() - time.monotonic_ns()
