"""Whether offers can satisfy a need at all, before any latency is computed: how often messages come (S3).

A publisher that promises a message at least every `max_sep` satisfies whoever needs one at least that
often. What is not promised satisfies nobody.
"""

from __future__ import annotations

from typing import NamedTuple

from giusto.contract.duration import show_ns, show_rate
from giusto.contract.need import Need
from giusto.contract.offer import HEADER_BYTES, QUEUE_MAX, SIZE_BYTES_DEFAULT, Offer
from giusto.errors import Nearest, Refused

UNDER_WAY_NS = 500_000_000
"""Who may wait longer than that is hardly ever served so late: no more is asked of a queue."""


class Flow(NamedTuple):
    """An offer, with whom it is of and on which topic."""

    publisher: str
    topic: str
    offer: Offer


def require_match(need: Need, flow: Flow, subscriber: str = "") -> None:
    """Raise `Refused` if the offer promises fewer messages than the need, of a subscriber, asks for."""
    whose = f" of {subscriber}" if subscriber else ""
    _require_max_sep(need, flow, whose)
    _require_rate(need, flow, whose)


def binds_later(pattern: str) -> bool:
    """Whether publishers that come later must satisfy how often messages are needed too.

    Whoever asks it of topics by name knows their publishers. A wildcard would forbid everybody else's.
    """
    return not {"+", "#"} & {*pattern.split("/")}


def is_demanding(need: Need) -> bool:
    """Whether the need asks for messages to come often enough."""
    return need.max_sep_ns is not None or need.count is not None


def _require_max_sep(need: Need, flow: Flow, whose: str) -> None:
    asked, offered = need.max_sep_ns, flow.offer.max_sep_ns
    if asked is None or (offered is not None and offered <= asked):
        return
    needed = f"at least one message per {show_ns(asked)}"
    raise Refused("max_sep", _sentence(whose, needed, flow), _nearest(flow))


def _require_rate(need: Need, flow: Flow, whose: str) -> None:
    offered = flow.offer.max_sep_ns
    if need.count is None or need.period_ns is None:
        return
    if offered is not None and need.count * offered <= need.period_ns:
        return
    raise Refused("rate", _sentence(whose, show_rate(need.count, need.period_ns), flow), _nearest(flow))


def _sentence(whose: str, needed: str, flow: Flow) -> str:
    offered = flow.offer.max_sep_ns
    if offered is None:
        promised = "promises no max_sep"
    else:
        promised = f"promises only one message per {show_ns(offered)}"
    return f"the need{whose} is {needed}, but {flow.publisher} on {flow.topic} {promised}"


def _nearest(flow: Flow) -> Nearest | None:
    offered = flow.offer.max_sep_ns
    return None if offered is None else Nearest(count=1, period_ns=offered)


def require_queue(flow: Flow, tolerance_ns: int, promise_ns: int) -> None:
    """Raise `Refused` if a publisher that keeps its offer may have to wait for room in its queue.

    What a message waits for then is in no bound. Within a promised latency the offer, and the tolerance of
    the broker, let so many messages come; of the room that they leave a quarter may be given back late.
    """
    offer = flow.offer
    if offer.limit is None:
        return
    within_ns = min(promise_ns, UNDER_WAY_NS)
    needed = _under_way(offer, tolerance_ns + within_ns)
    sure = offer.queue - max(1, offer.queue // 4) + 1
    if needed > sure:
        reason = (
            f"{flow.publisher} may have {needed:,} messages under way on {flow.topic} within "
            f"{show_ns(within_ns)}, and its queue of {offer.queue:,} is sure to have room for {sure:,}"
        )
        raise Refused("queue", f"{reason}: {_more_room(needed)}")


def require_output(flow: Flow, tolerance_ns: int, promise_ns: int, output_bytes: int) -> None:
    """Raise `Refused` if what a publisher may have under way is too much to wait for one subscriber.

    A subscriber that takes everything within the latency that it was promised shall lose nothing of it.
    """
    offer = flow.offer
    if offer.limit is None:
        return
    within_ns = min(promise_ns, UNDER_WAY_NS)
    needed = _under_way(offer, tolerance_ns + within_ns)
    size_bytes = SIZE_BYTES_DEFAULT if offer.max_size_bytes is None else offer.max_size_bytes
    needed_bytes = needed * (size_bytes + HEADER_BYTES)
    if needed_bytes > output_bytes:
        reason = (
            f"{flow.publisher} may have {needed:,} messages of {size_bytes:,} bytes under way on "
            f"{flow.topic} within {show_ns(within_ns)}, and {output_bytes:,} bytes may wait for a subscriber"
        )
        remedy = f"raise broker.output_bytes to {needed_bytes:,}, or offer a smaller max_size"
        raise Refused("output", f"{reason}: {remedy}")


def _under_way(offer: Offer, within_ns: int) -> int:
    """Messages that an offer with a limit lets come within a time."""
    assert offer.limit is not None
    count, period_ns = offer.limit
    return offer.burst - -(offer.jitter_ns + within_ns) * count // period_ns


def _more_room(needed: int) -> str:
    queue = needed + needed // 3 + 1
    if queue > QUEUE_MAX:
        return "offer a smaller burst or rate, or ask for a shorter latency"
    return f"offer a queue of {queue:,}, or ask for a shorter latency"
