"""When a subscriber has seen everything, and at which rate it came.

Counting must cost next to nothing: the subscriber adds to `count`, and a thread looks at it now and then.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from itertools import pairwise

LOOK_SECONDS = 0.02
# The first moments are not measured: everybody grows buffers then.
WARM_SECONDS = 0.3
QUIET_SECONDS = 1.0
NEVER_SECONDS = 30.0

Sample = tuple[float, int]


def rate(samples: list[Sample]) -> float:
    """Messages per second between the end of the warm-up and the last arrival."""
    moving = [now for before, now in pairwise(samples) if now[1] > before[1]]
    if not moving:
        return 0.0
    warm = [sample for sample in moving if sample[0] >= moving[0][0] + WARM_SECONDS]
    (first, seen), (last, all_of_them) = (warm or moving)[0], moving[-1]
    return (all_of_them - seen) / (last - first) if last > first else 0.0


class Meter:
    """Add to `count`; the rest happens by itself."""

    def __init__(self) -> None:
        self.count = 0

    def ready(self) -> None:
        """Say that messages can come, and watch from now on."""
        print("ready", flush=True)
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        samples = [(time.monotonic(), self.count)]
        moved = samples[0][0]
        while True:
            time.sleep(LOOK_SECONDS)
            now = (time.monotonic(), self.count)
            if now[1] > samples[-1][1]:
                moved = now[0]
            samples.append(now)
            if now[0] - moved > (QUIET_SECONDS if now[1] else NEVER_SECONDS):
                print(json.dumps({"received": now[1], "rate": rate(samples)}), flush=True)
                sys.stdout.flush()
                # The subscriber itself waits for a message that will not come.
                os._exit(0)
