"""How bursty a flow was, exactly: the least σ for each ρ of a grid, from messages in order or from pieces.

A flow keeps (σ, ρ) if any window of length t holds at most σ + ρt of it. For a window that begins and ends
with a message the excess is Σ cost − ρ·span, and the largest excess of all windows is the least σ. A rate is
a fraction of whole numbers, ρ = b/a per nanosecond, and what is kept is a·σ = max(a·Σ cost − b·span): whole
numbers, so that nothing is rounded. A piece of a flow keeps the best window, the best that begins with its
first message and the best that ends with its last one: pieces in order of time then add up to the whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Whole = NDArray[np.int64]

LIMIT = 2**62
"""Products stop here: of a span so that they never win, of a cost where a flow has billions of messages."""
CACHED = 2**13
"""So many numbers at a time stay near the processor."""
MESSAGE_UNIT = 2**30
BYTE_UNIT = 2**20


def grid(steps: int) -> list[int]:
    """1, and about √2 of the one before it, for so many octaves."""
    return sorted({round(2 ** (half / 2)) for half in range(2 * steps + 1)})


MESSAGE_GRID = grid(21)
"""Messages per 2³⁰ ns: from 0.93 to two million in a second."""
BYTE_GRID = grid(24)
"""Bytes per 2²⁰ ns: from 954 B/s to 16 GB/s."""


class Rates(NamedTuple):
    """ρ = b/a for each point of a grid."""

    a: Whole
    b: Whole


def message_rates(min_sep_ns: int | None) -> Rates:
    """The grid, and last the rate that was offered (the slowest of the grid again if none was)."""
    a = [MESSAGE_UNIT] * len(MESSAGE_GRID) + [min_sep_ns or MESSAGE_UNIT]
    return Rates(np.array(a, np.int64), np.array([*MESSAGE_GRID, 1], np.int64))


BYTE_RATES = Rates(np.full(len(BYTE_GRID), BYTE_UNIT, np.int64), np.array(BYTE_GRID, np.int64))


class Excess(NamedTuple):
    """a·σ of the best window of a piece, of the best from its first message, and of the best to its last."""

    best: Whole
    prefix: Whole
    suffix: Whole


@dataclass(frozen=True, slots=True)
class Piece:
    """Consecutive messages of one flow. It is `exact` unless pieces that overlap were put together.

    `closer` counts messages that came sooner after the one before than the separation that was offered; an
    offer may allow it. By how much messages may be early in all is from `least_allowed_ns` to
    `most_allowed_ns`, depending on when, if it is known.
    """

    count: int
    size_bytes: int
    first_ns: int
    last_ns: int
    largest_bytes: int
    closer: int
    exact: bool
    messages: Excess
    bytes: Excess
    least_allowed_ns: int | None = None
    most_allowed_ns: int | None = None


def times(factors: Whole, number: int) -> Whole:
    """Their products with a number that is not negative, up to LIMIT."""
    safe = np.minimum(number, LIMIT // factors)
    return np.where(safe < number, LIMIT, factors * safe)


def excess_of(at_ns: Whole, costs: Whole, rates: Rates) -> Excess:
    """Of messages in order of time; `at_ns` begins with 0. One pass for each rate, as many at once as fit."""
    total = np.cumsum(costs)
    at_once = max(1, CACHED // len(at_ns))
    found = np.empty((3, len(rates.a)), np.int64)
    for k in range(0, len(rates.a), at_once):
        a, b = rates.a[k : k + at_once, None], rates.b[k : k + at_once, None]
        # Within 64 bits, whatever sizes the records say.
        after = np.minimum(total, LIMIT // a) * a
        after -= at_ns * b
        before = after - costs * a
        np.minimum.accumulate(before, axis=1, out=before)
        found[1, k : k + at_once] = after.max(axis=1)
        found[2, k : k + at_once] = after[:, -1] - before[:, -1]
        after -= before
        found[0, k : k + at_once] = after.max(axis=1)
    return Excess(*found)


def piece_of(at_ns: Whole, size_bytes: Whole, min_sep_ns: int | None) -> Piece:
    """Messages of one flow in order of time, within some seconds of each other."""
    since = at_ns - at_ns[0]
    gaps = np.diff(at_ns)
    return Piece(
        count=len(at_ns),
        size_bytes=int(size_bytes.sum()),
        first_ns=int(at_ns[0]),
        last_ns=int(at_ns[-1]),
        largest_bytes=int(size_bytes.max()),
        closer=int((gaps < (min_sep_ns or 0)).sum()),
        exact=True,
        messages=excess_of(since, np.ones(len(at_ns), np.int64), message_rates(min_sep_ns)),
        bytes=excess_of(since, size_bytes, BYTE_RATES),
    )


def joined(one: Piece, other: Piece, min_sep_ns: int | None) -> Piece:
    """Both as one. If they overlap σ may be too large, never too small."""
    earlier, later = sorted((one, other), key=lambda piece: (piece.first_ns, piece.last_ns))
    gap_ns = later.first_ns - earlier.last_ns
    rates = message_rates(min_sep_ns)
    counts, sizes = (earlier.count, later.count), (earlier.size_bytes, later.size_bytes)
    if gap_ns >= 0:
        spans = (earlier.last_ns - earlier.first_ns, gap_ns, later.last_ns - later.first_ns)
        messages = in_order(earlier.messages, later.messages, counts, spans, rates)
        in_bytes = in_order(earlier.bytes, later.bytes, sizes, spans, BYTE_RATES)
    else:
        both_ns = min(earlier.last_ns, later.last_ns) - later.first_ns
        messages = together(earlier.messages, later.messages, both_ns, rates)
        in_bytes = together(earlier.bytes, later.bytes, both_ns, BYTE_RATES)
    return Piece(
        count=sum(counts),
        size_bytes=sum(sizes),
        first_ns=earlier.first_ns,
        last_ns=max(earlier.last_ns, later.last_ns),
        largest_bytes=max(earlier.largest_bytes, later.largest_bytes),
        closer=earlier.closer + later.closer + (0 <= gap_ns < (min_sep_ns or 0)),
        exact=earlier.exact and later.exact and gap_ns >= 0,
        messages=messages,
        bytes=in_bytes,
        least_allowed_ns=min(known(earlier.least_allowed_ns, later.least_allowed_ns), default=None),
        most_allowed_ns=max(known(earlier.most_allowed_ns, later.most_allowed_ns), default=None),
    )


def known(*values: int | None) -> list[int]:
    """Those of them that there are."""
    return [value for value in values if value is not None]


def in_order(
    earlier: Excess, later: Excess, costs: tuple[int, int], spans_ns: tuple[int, int, int], rates: Rates
) -> Excess:
    """The best windows of two pieces in a row; `spans_ns` are of the first, the gap and the second."""
    gap = times(rates.b, spans_ns[1])
    all_earlier = times(rates.a, costs[0]) - times(rates.b, spans_ns[0])
    all_later = times(rates.a, costs[1]) - times(rates.b, spans_ns[2])
    across = capped(earlier.suffix, later.prefix, gap)
    return Excess(
        np.maximum(np.maximum(earlier.best, later.best), across),
        np.maximum(earlier.prefix, capped(all_earlier, later.prefix, gap)),
        np.maximum(later.suffix, capped(earlier.suffix, all_later, gap)),
    )


def capped(one: Whole, other: Whole, gap: Whole) -> Whole:
    """The excess of a window over both, less what passes between them, within ±LIMIT."""
    # In this order nothing leaves 64 bits: a gap is at least 0, an excess within ±LIMIT.
    near = np.maximum(one - gap, -LIMIT)
    found: Whole = np.clip(near, -LIMIT, LIMIT - np.maximum(other, 0)) + other
    return found


def together(one: Excess, other: Excess, both_ns: int, rates: Rates) -> Excess:
    """An upper bound where both have messages for so long: there each has used up what passed by itself."""
    most = np.minimum(one.best, LIMIT // 4) + np.minimum(other.best, LIMIT // 4)
    most += np.minimum(times(rates.b, both_ns), LIMIT // 2)
    return Excess(most, most, most)
