"""What a broker says about itself: what the data plane counted, under the names of the registry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from giusto.broker.guarded import Guarded
from giusto.broker.registry import Client, Registry, Topic
from giusto.models import ModelVerdict
from giusto.protocol import ClientStatus, StatusIs, TopicStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What a broker is, from its start to its end; `unkept` says what its retained topics miss."""

    run: str
    version: str
    input: str
    output: str
    started_ns: int
    unkept: Callable[[], dict[str, dict[str, int]]] = dict


def status_answer(
    number: int,
    registry: Registry,
    guarded: Guarded,
    counted: dict[str, Any],
    about: About,
    now_ns: int,
    models: list[ModelVerdict],
) -> StatusIs:
    """The answer to a Status request; `counted` is what the data plane says."""
    topics, clients = counted["topics"], counted["clients"]
    return StatusIs(
        id=number,
        topics=[
            topic_status(topic, topics.get(topic.number, {}), guarded) for topic in registry.topics.values()
        ],
        clients=[
            client_status(client, clients.get(client.conn, {}), guarded)
            for client in registry.clients.values()
        ],
        totals=counted.get("totals", {}),
        refused=counted.get("refused", {}),
        run=about.run,
        version=about.version,
        uptime_ns=now_ns - about.started_ns,
        now_ns=now_ns,
        input=about.input,
        output=about.output,
        models=models,
        unkept=about.unkept(),
    )


def topic_status(topic: Topic, counted: dict[str, Any], guarded: Guarded) -> TopicStatus:
    """A topic with its counters and delays."""
    return TopicStatus(
        topic=topic.name,
        share=topic.share,
        publishers=len(topic.flows),
        subscribers=topic.subscribers,
        counters=counted.get("counters", {}),
        delay_p50_ns=counted.get("delay_p50_ns", 0),
        delay_p99_ns=counted.get("delay_p99_ns", 0),
        delay_max_ns=counted.get("delay_max_ns", 0),
        bound_ns=guarded.bound_ns(topic.name),
        promise_ns=guarded.promise_ns(topic.name),
    )


def client_status(client: Client, counted: dict[str, Any], guarded: Guarded) -> ClientStatus:
    """A client, with what was served for it and what waits for it."""
    return ClientStatus(
        client=client.number,
        name=client.name,
        address=client.address,
        served=counted.get("served", 0),
        waiting=counted.get("waiting", 0),
        dropped=dict(client.dropped),
        share=guarded.client_share(client.name),
    )
