"""How what is guarded is said: the verdict of a subscription, and how the bounds of a topic arise."""

from __future__ import annotations

from collections.abc import Iterable

from giusto.broker.contracts import Contract
from giusto.broker.guarded import Guarded
from giusto.contract import Part
from giusto.guarantee.model import Bound
from giusto.protocol import Explained, FlowBound, PartTerms, PromiseTerms, VerdictIs, VerdictTerms

UNASKED = VerdictTerms(reason="no latency was asked for")


def verdict_of(contract: Contract | None, guarded: Guarded) -> VerdictTerms:
    """What was promised to a subscription, and what it comes to now."""
    if contract is None or contract.promise_ns is None:
        return UNASKED
    worst = guarded.book.worst(tuple(contract.topics)) if contract.topics else None
    if worst is None:
        promise_ns = contract.promise_ns
        return VerdictTerms(promise_ns=promise_ns, bound_ns=promise_ns, basis=guarded.basis)
    return VerdictTerms(
        promise_ns=contract.promise_ns,
        bound_ns=worst.total_ns,
        parts=_parts(worst.parts),
        topic_share=float(worst.topic_share),
        client_share=float(worst.client_share),
        basis=guarded.basis,
        topic=worst.topic,
        publisher=worst.client,
    )


def news(guarded: Guarded) -> list[tuple[int, VerdictIs]]:
    """For each live contract whose verdict is not what its client was told: the connection and the notice."""
    told = []
    for contract in guarded.take_moved():
        terms = verdict_of(contract, guarded)
        if contract.subscription is not None and terms != contract.told:
            contract.told = terms
            notice = VerdictIs(contract.subscription.number, terms)
            told.append((contract.subscription.client.conn, notice))
    return told


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
