"""What still stands of the contracts that were kept when a broker starts: all that can be held.

Every client is away at first, and has the usual time to come back. Promises to subscribers stand in any case;
a publisher whose place does not fit any more, since the broker has become slower, is named and let go. Where
the order of topics matters the data plane has all of them again at once, in the order that was promised on.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from math import inf

from giusto.broker.contracts import Contract
from giusto.broker.desk import Desk
from giusto.broker.guarded import Guarded
from giusto.broker.keeping import Keeping
from giusto.broker.rows import Kept, KeptNeed, KeptOffer, KeptShare
from giusto.broker.topics import Topics
from giusto.contract import Need, Offer
from giusto.contract.matching import Flow
from giusto.errors import GiustoError, InvalidInput, Refused

_log = logging.getLogger("giusto.broker")


def restore(
    guarded: Guarded, desk: Desk, keeping: Keeping, topics: Topics, kept: Sequence[Kept], until_ns: int
) -> int:
    """Count all that was kept, until then unless its clients come back; how many needs and offers it is."""
    offers: dict[Flow, KeptOffer] = {}
    needs = 0
    for one in kept:
        try:
            match one:
                case KeptShare():
                    guarded.keep_share(one.topic, one.share)
                case KeptNeed():
                    guarded.contracts.add(_contract(one, until_ns))
                    needs += 1
                case KeptOffer():
                    offers[_flow(one)] = one
        except GiustoError as error:
            _log.warning("a contract that was kept is left out: %s", error)
    if guarded.is_ordered:
        _declare(guarded, topics, offers.values())
        keeping.place_again(offers.values())
    lost = _restored(desk, list(offers), until_ns)
    for flow in lost:
        keeping.give_up(flow.publisher, flow.topic)
    return needs + len(offers) - len(lost)


def _declare(guarded: Guarded, topics: Topics, offers: Iterable[KeptOffer]) -> None:
    """The topics that will be guarded, by the places that they had."""
    for one in sorted(offers, key=_place):
        if guarded.place(one.topic) is None and guarded.contracts.promising(one.topic):
            topics.declare(one.topic, guarded.share(one.topic))


def _place(offer: KeptOffer) -> float:
    """What has none, since the order did not matter when it was kept, comes last."""
    return inf if offer.place is None else offer.place


def _restored(desk: Desk, offers: list[Flow], until_ns: int) -> list[Flow]:
    """All at once, which is quick; if that is too much, the oldest first. Those that do not fit any more."""
    try:
        desk.adopt(offers, until_ns)
        return []
    except Refused as error:
        _log.warning("not all that was kept can be held any more: %s", error)
    return [flow for flow in offers if not _is_restored(desk, flow, until_ns)]


def _is_restored(desk: Desk, flow: Flow, until_ns: int) -> bool:
    try:
        desk.adopt([flow], until_ns)
        return True
    except Refused as error:
        _log.warning("the place of %s on %s is given up: %s", flow.publisher, flow.topic, error)
        return False


def _contract(kept: KeptNeed, until_ns: int) -> Contract:
    need = Need.from_terms(kept.need)
    return Contract(kept.key, kept.client, kept.pattern, need, kept.comparisons, until_ns=until_ns)


def _flow(kept: KeptOffer) -> Flow:
    offer = Offer.from_terms(kept.offer)
    if offer.limit is None:
        raise InvalidInput("offer", str(offer), "a limit")
    return Flow(kept.client, kept.topic, offer)
