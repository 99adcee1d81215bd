"""How an objection of the book is said to the client whose request it is about, and what would help."""

from __future__ import annotations

from dataclasses import replace

from giusto.contract import Need
from giusto.errors import Nearest, Refused
from giusto.guarantee.forgiving import least_tolerance_ns
from giusto.guarantee.least import least_latency_ns, too_short
from giusto.guarantee.model import Change, Objection, Rest, Setting
from giusto.guarantee.rest import REST_LEAST, larger, rest_of
from giusto.guarantee.search import Exhausted, Search
from giusto.protocol import ShareTerms

UNSEARCHED = "; it is about so many flows that not all that would be possible was looked for"
NO_LATENCY = "; to ask for a longer max_latency would not help"


def require_possible(need: Need, setting: Setting, share: ShareTerms) -> None:
    """Raise `Refused` for a latency that no message could have on a topic where nobody publishes yet."""
    asked_ns = need.max_latency_ns
    if asked_ns is None:
        return
    least_ns = least_latency_ns(setting, share)
    if asked_ns < least_ns:
        raise Refused("latency", too_short(asked_ns, least_ns), Nearest(least_ns))


def refusal(objection: Objection, search: Search, beside: Rest, *, own: bool) -> Refused:
    """The refusal: for its own latency, for the promises of others, or since there is no bound at all.

    Only who asks for a latency has an `own` one: of a publisher everything that is promised is others'. The
    request itself says of other traffic what is in `beside`.
    """
    change = search.change
    parts = tuple((part.name, part.ns, part.label) for part in objection.parts)
    if change == Change(rest=change.rest):
        size_bytes = _largest_beside(search, beside)
        found = None if size_bytes is None else Nearest(max_size_bytes=size_bytes)
        return Refused("others", objection.sentence + _hint(change, beside), found, parts)
    nearest = _nearest(objection, search)
    why = "others" if objection.why == "latency" and not own else objection.why
    reason = objection.sentence
    if not search.is_complete:
        reason += UNSEARCHED
    elif why == "others" and change.wishes and nearest.max_latency_ns is None:
        reason += NO_LATENCY
    return Refused(why, reason, None if nearest == Nearest() else nearest, parts)


def _nearest(objection: Objection, search: Search) -> Nearest:
    """What would be granted, with what helps against this objection."""
    nearest = search.nearest()
    if objection.why == "tolerance":
        tolerance_ns = least_tolerance_ns(search.book, search.change, objection.bound_ns or 0)
        return nearest._replace(tolerance_ns=tolerance_ns)
    if objection.why == "overload":
        return nearest._replace(max_size_bytes=search.largest_size_bytes())
    return nearest


def _largest_beside(search: Search, beside: Rest) -> int | None:
    """The largest messages with which other traffic would be admitted; it counts in powers of two."""
    now, asked = search.book.rest, search.change.rest
    size_bytes = rest_of(0, beside.size_bytes).size_bytes // 2
    while asked is not None and REST_LEAST.size_bytes <= size_bytes < beside.size_bytes:
        rest = larger(now, rest_of(beside.fanout, size_bytes, beside.comparisons))
        try:
            if rest == now or search.holds(replace(search.change, rest=rest)):
                return size_bytes
        except Exhausted:
            return None
        size_bytes //= 2
    return None


def _hint(change: Change, beside: Rest) -> str:
    """What to do about other traffic that is in the way."""
    rest = change.rest
    if rest is None:
        return ""
    said = f"{beside.fanout:,} subscriptions"
    counted = f"{rest.fanout:,} subscriptions"
    if beside.size_bytes:
        said, counted = f"{beside.size_bytes:,} bytes to {said}", f"{rest.size_bytes:,} bytes to {counted}"
    if rest.comparisons > REST_LEAST.comparisons:
        said += f" with filters of {beside.comparisons:,} comparisons"
        counted += f" and {rest.comparisons:,} comparisons"
    return (
        f" (messages of this topic, {said}, would be in the way; other traffic is rounded up to powers of "
        f"two, here {counted}: offer a smaller max_size, or have fewer subscribers or filters)"
    )
