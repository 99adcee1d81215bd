"""What a broker allots to topics and clients now, what it has proved for them and they offer, for its trace.

Topics under contract are served before the rest: the shares of each kind are parts of its own time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from giusto.broker.holdings import offer_of
from giusto.broker.registry import Registry, Topic
from giusto.config import BrokerConfig
from giusto.config.broker import share_of
from giusto.trace.facts import Allotment, allotted, limit_of

_WEIGHTS: dict[str, Callable[[Topic], int]] = {
    "twrr": lambda topic: share_of(topic.share).weight,
    "smooth": lambda topic: share_of(topic.share).weight,
    "fair": lambda topic: share_of(topic.share).rate,
}


def facts_of(registry: Registry, bounds_ns: Mapping[str, int | None], config: BrokerConfig) -> dict[str, Any]:
    """The topics that somebody publishes on, those under contract first, by name.

    `bounds_ns` are the largest bounds of the topics under contract, None where there is none just now.
    """
    topics = [topic for _, topic in sorted(registry.topics.items()) if topic.flows]
    told: list[dict[str, Any]] = []
    for is_guarded in (True, False):
        kind = [_allotment(one, config.input) for one in topics if (one.name in bounds_ns) == is_guarded]
        told += (
            {**fact, "guarded": is_guarded, "bound_ns": bounds_ns.get(fact["topic"])}
            for fact in allotted(config.input, kind)
        )
    policies = {"input": config.input, "output": config.output}
    numbers = {"fragment_bytes": config.fragment_bytes, "tolerance_ns": config.tolerance_ns}
    return {**policies, **numbers, "topics": told}


def _allotment(topic: Topic, policy: str) -> Allotment:
    weight = _WEIGHTS[policy](topic) if policy in _WEIGHTS else None
    offers = {flow.client.name: limit_of(offer_of(flow.offer)) for flow in topic.flows.values()}
    return Allotment(topic.name, weight, tuple(offers), offers)
