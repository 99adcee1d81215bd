"""Which offers a promise can rest on: those with a limit, from clients that publish nothing without one."""

from __future__ import annotations

from giusto.broker.holdings import offer_of
from giusto.broker.registry import Client
from giusto.contract import Offer
from giusto.contract.matching import Flow as Offered
from giusto.errors import Refused

HINT = "offer a min_sep or a rate, and a max_size"


def require_limit(
    flow: Offered, *, beside: bool = False, is_over: bool = False, suggested: Offer | None = None
) -> None:
    """Raise `Refused` for an offer without a limit; `beside` a flow of the same client on a guarded topic.

    The promise on the topic `is_over`, but messages of it may be on their way. What was measured of the flow
    may have `suggested` an offer.
    """
    if flow.offer.limit is not None:
        return
    if beside:
        raise _beside(flow.publisher, flow.topic)
    if is_over:
        reason = f"a latency was promised on {flow.topic}, and messages of it may still be on their way"
        raise Refused("no_limit", f"{reason}: {HINT}, or ask again in half a minute")
    reason = f"{flow.publisher} publishes on {flow.topic} without a limit, so that no latency can be promised"
    hint = HINT if suggested is None else f"{HINT}; {suggested!r} would have covered what it sent so far"
    raise Refused("no_limit", f"{reason}: {hint}")


def require_stream(client: Client, topic: str) -> None:
    """Raise `Refused` for a client with datagrams: they may be lost, and are read with the rest."""
    if client.datagrams:
        reason = (
            f"{client.name} sends and receives datagrams, and a latency on {topic} is promised over TCP alone"
        )
        raise Refused("datagrams", f"{reason}: connect to giusto://, not to giusto+udp://")


def require_limits_beside(client: Client, topic: str) -> None:
    """Raise `Refused` if the client publishes something else without a limit: it is read with urgency."""
    for flow in client.flows.values():
        if offer_of(flow.offer).limit is None:
            raise _beside(client.name, flow.topic.name, topic)


def _beside(client: str, topic: str, guarded: str | None = None) -> Refused:
    where = "a topic" if guarded is None else guarded
    reason = f"{client} publishes on {where} with a promised latency, and on {topic} without a limit"
    return Refused("unlimited_beside", f"{reason}: {HINT} there too, or connect once more for it")
