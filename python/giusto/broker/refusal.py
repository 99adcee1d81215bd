"""How an objection of the book is said to the client whose request it is about."""

from __future__ import annotations

from dataclasses import replace

from giusto.errors import Nearest, Refused
from giusto.guarantee.model import Change, Objection
from giusto.guarantee.rest import REST_LEAST
from giusto.guarantee.search import Search

UNSEARCHED = "; it is about so many flows that not all that would be possible was looked for"


def refusal(objection: Objection, change: Change, search: Search, *, own: bool) -> Refused:
    """The refusal: for its own latency, for the promises of others, or since there is no bound at all.

    Only who asks for a latency has an `own` one: of a publisher everything that is promised is others'.
    """
    nearest = search.nearest()
    found = None if nearest == Nearest() else nearest
    if not search.is_complete:
        objection = replace(objection, sentence=objection.sentence + UNSEARCHED)
    if change == Change(rest=change.rest):
        return Refused("others", objection.sentence + _hint(change), found)
    why = "others" if objection.why == "latency" and not own else objection.why
    return Refused(why, objection.sentence, found)


def _hint(change: Change) -> str:
    """What to do about other traffic that is in the way."""
    rest = change.rest
    if rest is None:
        return ""
    size = f"messages of {rest.size_bytes:,} bytes to {rest.fanout} subscriptions"
    if rest.comparisons > REST_LEAST.comparisons:
        size = f"{size} with filters of {rest.comparisons:,} comparisons"
    return f" ({size} would be in the way: offer a smaller max_size, or have fewer subscribers or filters)"
