"""How long to wait before the next attempt to connect."""

from __future__ import annotations

FIRST_NS = 50_000_000
MOST_NS = 5_000_000_000


def delay_ns(attempt: int, chance: float) -> int:
    """The delay before attempt number `attempt` (from 0): doubled each time, up to a limit.

    `chance`, from 0 to 1, takes up to half of it away, so that the clients of a broker that comes back do not
    all come at once. The first attempt is made at once.
    """
    if attempt == 0:
        return 0
    full = min(MOST_NS, FIRST_NS << min(attempt - 1, 30))
    return full - int(full * chance / 2)
