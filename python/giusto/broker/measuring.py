"""Which offer a measured flow would have kept."""

from __future__ import annotations

import math

from giusto.contract import Offer
from giusto.contract.offer import BURST_MAX, SIZE_BYTES_MAX, leeway_ns
from giusto.models import EnvelopeModel, RatePoint

LEAST_HZ = 0.001
ROOM = 1.1
"""A rate that is so much above the mean leaves a burst room to go away."""


def widened(offer: Offer, model: EnvelopeModel, tolerance_ns: int) -> Offer | str:
    """The offer with the burst and jitter that were seen at its rate; or why there is nothing to widen."""
    separation_ns = offer.separation_ns
    assert separation_ns is not None
    if model.excess_ns is None or model.min_sep_ns is None:
        return "it was measured without its offer"
    if abs(model.min_sep_ns - separation_ns) > 1:
        return "it was measured under another offer"
    kept_ns = leeway_ns(separation_ns=separation_ns, burst=offer.burst, jitter_ns=offer.jitter_ns)
    more_ns = model.excess_ns - kept_ns
    if more_ns <= tolerance_ns:
        return "it keeps its offer" if more_ns <= 0 else "it keeps its offer within the tolerance"
    burst = min(offer.burst + more_ns // separation_ns, BURST_MAX)
    return with_burst(offer, burst, offer.jitter_ns + more_ns % separation_ns)


def with_burst(offer: Offer, burst: int, jitter_ns: int) -> Offer:
    """The same offer with another burst and jitter."""
    from msgspec.structs import replace

    return Offer.from_terms(replace(offer.terms(), burst=burst, jitter_ns=jitter_ns))


def suggestion(model: EnvelopeModel) -> Offer:
    """An offer for who has made none: the slowest rate of the grid with some room, and its burst."""
    wanted_hz = max(ROOM * model.mean_hz, LEAST_HZ)
    point = next((one for one in model.points if one.rho_hz >= wanted_hz), RatePoint(wanted_hz, 1.0))
    burst = max(1, min(BURST_MAX, math.ceil(point.sigma)))
    size_bytes = max(1, min(model.largest_bytes, SIZE_BYTES_MAX))
    return Offer(min_sep=f"{plain(int(1e9 / point.rho_hz))}ns", burst=burst, max_size=size_bytes)


def plain(number: int) -> int:
    """The two leading digits of it: a shorter separation covers no less."""
    unit: int = 10 ** max(0, len(str(number)) - 2)
    return max(1, number // unit * unit)
