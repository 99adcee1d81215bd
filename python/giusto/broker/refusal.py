"""How an objection of the book is said to the client whose request it is about."""

from __future__ import annotations

from giusto.errors import Nearest, Refused
from giusto.guarantee.model import Objection


def refusal(objection: Objection, nearest: Nearest) -> Refused:
    """The refusal: for its own latency, for the promises of others, or because no bound exists at all."""
    why = objection.why if objection.own or objection.why == "overload" else "others"
    return Refused(why, objection.sentence, None if nearest == Nearest() else nearest)
