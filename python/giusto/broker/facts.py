"""What the records of a broker alone do not say: what topics and clients are allotted.

Topics under contract are served before the rest, each among its own: `share` is the part of its kind that a
topic is sure of (r_k), of a client the part of all clients' (θ_i), both while every queue is busy.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

from giusto.broker.registry import Registry, Topic
from giusto.config import BrokerConfig
from giusto.config.broker import share_of


def facts_of(registry: Registry, guarded: Collection[str], config: BrokerConfig) -> dict[str, Any]:
    """The topics that somebody publishes on, by name, and who does."""
    topics = [topic for _, topic in sorted(registry.topics.items()) if topic.flows]
    told: list[dict[str, Any]] = []
    for is_guarded in (True, False):
        kind = [topic for topic in topics if (topic.name in guarded) == is_guarded]
        told += ({**fact, "guarded": is_guarded} for fact in _kind(kind, config.input))
    return {"input": config.input, "output": config.output, "topics": told}


def _kind(topics: list[Topic], policy: str) -> Iterable[dict[str, Any]]:
    """The topics of one kind: theirs are the cells, and a cell has a quantum for each publisher."""
    weight = _WEIGHTS.get(policy, _nothing)
    weights = {topic.name: weight(topic) for topic in topics}
    known = {name: value for name, value in weights.items() if value is not None}
    total = sum(known.values())
    quanta = sum(known.get(topic.name, 0) * len(topic.flows) for topic in topics)
    clients: dict[str, int] = {}
    for topic in topics:
        for flow in topic.flows.values():
            clients[flow.client.name] = clients.get(flow.client.name, 0) + known.get(topic.name, 0)
    is_celled = policy in _CELLED
    for topic in topics:
        value = known.get(topic.name)
        yield {
            "topic": topic.name,
            "weight": value,
            "share": None if value is None else value / total,
            "clients": [
                {"client": name, "share": clients[name] / quanta if is_celled and quanta else None}
                for name in sorted({flow.client.name for flow in topic.flows.values()})
            ],
        }


def _weight(topic: Topic) -> int | None:
    return share_of(topic.share).weight


def _rate(topic: Topic) -> int | None:
    return share_of(topic.share).rate


def _nothing(topic: Topic) -> int | None:
    return None


_WEIGHTS: dict[str, Callable[[Topic], int | None]] = {"twrr": _weight, "smooth": _weight, "fair": _rate}
_CELLED = ("twrr", "smooth")
