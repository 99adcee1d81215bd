"""How an objection of the book is said to the client whose request it is about."""

from __future__ import annotations

from giusto.errors import Nearest, Refused
from giusto.guarantee.model import Change, Objection


def refusal(objection: Objection, change: Change, nearest: Nearest, *, own: bool) -> Refused:
    """The refusal: for its own latency, for the promises of others, or because no bound exists at all.

    Only who asks for a latency has an `own` one: of a publisher everything that is promised is others'.
    """
    why = objection.why if own or objection.why == "overload" else "others"
    found = None if nearest == Nearest() else nearest
    return Refused(why, objection.sentence + _rest(change), found)


def _rest(change: Change) -> str:
    """What to do about other traffic that is in the way."""
    rest = change.rest
    if rest is None or change != Change(rest=rest):
        return ""
    size = f"messages of {rest.size_bytes:,} bytes to {rest.fanout} clients"
    return f", if {size} can come in between: offer a smaller max_size, or use fewer subscribers"
