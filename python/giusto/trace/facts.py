"""What the records alone do not say: which part of a processor topics and clients are allotted, and offers.

`share` of a topic is r_k, its part of the cells (S0, 1). A cell has a quantum for each publisher, so that the
part of all quanta is another one: `quanta_share`. `share` of a client is θ_i (S0, 5), its part of all quanta,
over all its topics; `flow_share` is the part that it has by this topic. They hold while every queue is busy.
Where a policy does not say so they are `None`. What a client offers with a limit is beside its shares.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from giusto.contract import Offer
from giusto.trace import layout
from giusto.trace.settling import settle

CELLED = ("twrr", "smooth")
"""Policies under which a cell of a topic has a quantum for each of its publishers."""


@dataclass(frozen=True, slots=True)
class Allotment:
    """A topic, what its policy is told of it if that is a weight or a rate, and who publishes on it."""

    topic: str
    weight: int | None
    clients: tuple[str, ...]
    offers: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """By client: `min_sep_ns`, `burst`, `jitter_ns`, of those who offer a limit."""


def allotted(policy: str | None, topics: Sequence[Allotment]) -> list[dict[str, Any]]:
    """What topics that share a processor are allotted; weights alone if no policy is known."""
    total = sum(topic.weight or 0 for topic in topics)
    turns = {topic.topic: _quanta(policy, topic) for topic in topics}
    quanta = sum(turns.values())
    of_client: Counter[str] = Counter()
    for topic in topics:
        of_client.update(dict.fromkeys(topic.clients, topic.weight or 0))
    is_known = policy in CELLED and quanta > 0
    return [
        {
            "topic": topic.topic,
            "weight": topic.weight,
            "share": None if policy is None or not topic.weight else topic.weight / total,
            "quanta_share": None if policy is None or not topic.weight else turns[topic.topic] / quanta,
            "clients": [
                {
                    "client": name,
                    "share": of_client[name] / quanta if is_known else None,
                    "flow_share": (topic.weight or 0) / quanta if is_known else None,
                    **topic.offers.get(name, {}),
                }
                for name in sorted(topic.clients)
            ],
        }
        for topic in topics
    ]


def _quanta(policy: str | None, topic: Allotment) -> int:
    """In a cycle, for a topic: where there are no cells it has its turns whoever publishes."""
    return (topic.weight or 0) * (len(topic.clients) if policy in CELLED else 1)


def limit_of(offer: Offer | None) -> dict[str, int]:
    """What an offer says of how close together messages come; nothing without a limit."""
    if offer is None or offer.separation_ns is None:
        return {}
    return {"min_sep_ns": offer.separation_ns, "burst": offer.burst, "jitter_ns": offer.jitter_ns}


def write_facts(folder: Path, facts: dict[str, Any], sequence: int) -> None:
    """Put facts, with their run and node, into a trace folder; raises `OSError` if the disk is full."""
    name = layout.facts_name(layout.prefix_of(facts["node"], facts["run"]), sequence)
    unfinished = folder / layout.FACTS / layout.unfinished_name(name)
    try:
        unfinished.write_text(json.dumps(facts) + "\n", encoding="utf-8")
        settle(unfinished, folder / layout.FACTS / name)
    except OSError:
        unfinished.unlink(missing_ok=True)
        raise
