"""Why messages did not come to a keeper: gaps say how many, and the broker counts what it dropped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from giusto import _core
from giusto.protocol import StatusIs

BEFORE = ("policed", "overflow", "expired")
"""What the broker did not take in, or dropped before anybody got it; it counts that by topic."""


def dropped_by(status: StatusIs, client: str, pattern: str) -> Counter[str]:
    """What the broker dropped on the way to a client: what waited for it, and what the topics lost before."""
    found: Counter[str] = Counter()
    for one in status.clients:
        if one.name == client:
            found.update(one.dropped)
    for topic in status.topics:
        if _core.topic_matches(pattern, topic.topic):
            found.update({reason: topic.counters.get(reason, 0) for reason in BEFORE})
    return +found


def causes(gaps: int, dropped: Mapping[str, int]) -> dict[str, int]:
    """The reasons of so many missing messages, as far as they are known.

    The broker may have counted more: a gap is seen when the next message of the flow comes.
    """
    found: dict[str, int] = {}
    for reason, count in dropped.items():
        found[reason] = min(count, gaps)
        gaps -= found[reason]
    return {reason: count for reason, count in found.items() if count}
