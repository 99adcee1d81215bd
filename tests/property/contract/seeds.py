"""Seeds of generated cases: replayable one at a time, multiplied by `GIUSTO_CASES`."""

from __future__ import annotations

import os
from collections.abc import Iterator


def seeds(count: int) -> Iterator[int]:
    """`count` seeds times `GIUSTO_CASES` (default 1), from `GIUSTO_SEED` (default 0) on; at least one."""
    first = int(os.environ.get("GIUSTO_SEED", "0"))
    return iter(range(first, first + max(1, int(count * float(os.environ.get("GIUSTO_CASES", "1"))))))
