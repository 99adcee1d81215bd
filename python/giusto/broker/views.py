"""Which clients publish and receive which topics: W, MatrixIN and MatrixOUT, as far as they fit a page.

They are made from the registry: the data plane goes on meanwhile.
"""

from __future__ import annotations

from giusto.broker.registry import Client, Registry
from giusto.protocol import ViewsAre

TOPICS_MAX = 64
CLIENTS_MAX = 256


def views_answer(number: int, registry: Registry, pattern: str) -> ViewsAre:
    """The answer to a Views request: topics by name, and the clients that have to do with them by number."""
    covered = sorted(registry.topics_covered(pattern), key=lambda topic: topic.name)
    topics = covered[:TOPICS_MAX]
    publishers = [{flow.client for flow in topic.flows.values()} for topic in topics]
    subscribers = [{each.client for each in registry.subscriptions_to(topic.name)} for topic in topics]
    involved = sorted(set().union(*publishers, *subscribers), key=lambda client: client.number)
    clients = involved[:CLIENTS_MAX]
    return ViewsAre(
        id=number,
        topics=[topic.name for topic in topics],
        clients=[client.name for client in clients],
        shares=[topic.share for topic in topics],
        matrix_in=_rows(clients, publishers),
        matrix_out=_rows(clients, subscribers),
        topics_more=len(covered) - len(topics),
        clients_more=len(involved) - len(clients),
    )


def _rows(clients: list[Client], columns: list[set[Client]]) -> list[list[int]]:
    return [[int(client in column) for column in columns] for client in clients]
