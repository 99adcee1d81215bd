"""What every publisher sends, and for how long."""

from __future__ import annotations

import time
from collections.abc import Iterator

PAYLOAD = bytes(128)
TOPIC = "fast"
# The clock is read once for this many messages.
BATCH = 100


def batches(seconds: float) -> Iterator[range]:
    """Ranges of `BATCH` messages until the time is over."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        yield range(BATCH)
