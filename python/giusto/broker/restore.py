"""What still stands of the contracts that were kept when a broker starts: all that can be held.

Every client is away at first, and has the usual time to come back. Promises to subscribers stand in any case;
a publisher whose place does not fit any more, since the broker has become slower, is named and let go.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from giusto.broker.contracts import Contract
from giusto.broker.desk import Desk
from giusto.broker.guarded import Guarded
from giusto.broker.keeping import Keeping
from giusto.broker.rows import Kept, KeptNeed, KeptOffer, KeptShare
from giusto.contract import Need, Offer
from giusto.contract.matching import Flow
from giusto.errors import GiustoError, InvalidInput, Refused

_log = logging.getLogger("giusto.broker")


def restore(guarded: Guarded, desk: Desk, keeping: Keeping, kept: Sequence[Kept], until_ns: int) -> int:
    """Count all that was kept, until then unless its clients come back; how many needs and offers it is."""
    offers: list[Flow] = []
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
                    offers.append(_flow(one))
        except GiustoError as error:
            _log.warning("a contract that was kept is left out: %s", error)
    lost = _restored(desk, offers, until_ns)
    for flow in lost:
        keeping.give_up(flow.publisher, flow.topic)
    return needs + len(offers) - len(lost)


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
