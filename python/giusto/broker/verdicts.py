"""How what is guarded is said: the verdict of a subscription, and how the bounds of a topic arise."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from giusto.broker.contracts import Contract
from giusto.broker.guarded import Guarded
from giusto.broker.mishap import survived
from giusto.contract import Part
from giusto.errors import Overload, Unknown
from giusto.guarantee.model import Bound
from giusto.protocol import Explained, FlowBound, PartTerms, PromiseTerms, VerdictIs, VerdictTerms

_log = logging.getLogger("giusto.broker")

UNNAMED = "lost with the connection, since the client has no name to come back under"
UNASKED = VerdictTerms(reason="no latency was asked for")


def verdict_of(contract: Contract | None, guarded: Guarded) -> VerdictTerms:
    """What was promised to a subscription, and what it comes to now."""
    if contract is None or contract.promise_ns is None:
        return UNASKED
    worst, reason = _worst(contract, guarded), _reason(contract)
    if worst is None:
        promise_ns = contract.promise_ns
        return VerdictTerms(promise_ns=promise_ns, bound_ns=promise_ns, basis=guarded.basis, reason=reason)
    return VerdictTerms(
        promise_ns=contract.promise_ns,
        bound_ns=worst.total_ns,
        parts=_parts(worst.parts),
        topic_share=float(worst.topic_share),
        client_share=float(worst.client_share),
        basis=guarded.basis,
        topic=worst.topic,
        publisher=worst.client,
        reason=reason,
    )


def _reason(contract: Contract) -> str:
    """What a client should know beside its promise."""
    subscription = contract.subscription
    return UNNAMED if subscription is not None and subscription.client.unnamed else ""


def _worst(contract: Contract, guarded: Guarded) -> Bound | None:
    """The largest bound now; none if there is none to be told, and the promise stands in any case."""
    try:
        return guarded.book.worst(tuple(contract.topics)) if contract.topics else None
    except (Overload, Unknown) as error:
        _log.warning("the bound of %s on %s cannot be told: %s", contract.client, contract.pattern, error)
        return None


def news(guarded: Guarded) -> list[tuple[int, VerdictIs]]:
    """For each live contract whose verdict is not what its client was told: the connection and the notice."""
    told: list[tuple[int, VerdictIs]] = []
    for contract in guarded.take_moved():
        with survived(f"the verdict of {contract.client} on {contract.pattern}"):
            told += _news_of(contract, guarded)
    return told


def _news_of(contract: Contract, guarded: Guarded) -> list[tuple[int, VerdictIs]]:
    terms = verdict_of(contract, guarded)
    if contract.subscription is None or terms == contract.told:
        return []
    contract.told = terms
    return [(contract.subscription.client.conn, VerdictIs(contract.subscription.number, terms))]


def explained(number: int, topic: str, guarded: Guarded) -> Explained:
    """The answer to an Explain request."""
    allotted = guarded.topics.get(topic)
    bounds = [guarded.bound(one.client, topic) for one in guarded.holdings.on(topic)]
    return Explained(
        id=number,
        topic=topic,
        input=guarded.book.setting.input,
        basis=guarded.basis,
        utilisation=float(guarded.book.utilisation),
        fanout=0 if allotted is None else allotted.fanout,
        flows=[_flow(bound) for bound in bounds if bound is not None],
        promises=[_promise(one) for one in guarded.contracts.promising(topic)],
    )


def _flow(bound: Bound) -> FlowBound:
    return FlowBound(
        publisher=bound.client,
        topic=bound.topic,
        bound_ns=bound.total_ns,
        parts=_parts(bound.parts),
        topic_share=float(bound.topic_share),
        client_share=float(bound.client_share),
    )


def _promise(contract: Contract) -> PromiseTerms:
    assert contract.promise_ns is not None
    is_away = contract.until_ns is not None
    return PromiseTerms(contract.client, contract.pattern, contract.promise_ns, is_away)


def _parts(parts: Iterable[Part]) -> list[PartTerms]:
    return [PartTerms(part.name, part.ns, part.label) for part in parts]
