"""The broker as S0 has it: it looks at one queue after the other, and a look takes time even at an empty one.

giusto's own broker never looks at an empty queue. The order is that of Fig. 3 either way.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Sequence

from giusto.guarantee import twrr

from .setting import CLIENTS, RELAY_NS, SEARCH_NS, SECONDS, WEIGHTS, Message, S, topics_of

Flow = tuple[int, int]
CELLS = tuple(twrr.cells(WEIGHTS))


def looks(second: int) -> list[Flow]:
    """The queues (client, topic) in the order of one cycle."""
    members = [set(topics_of(client, second)) for client in range(CLIENTS)]
    return [(client, topic) for topic in CELLS for client in range(CLIENTS) if topic in members[client]]


def forwarded(messages: Sequence[Message]) -> Iterator[tuple[Message, int]]:
    """Each message with the instant at which it has been forwarded; `messages` in the order of arrival.

    A client that stops publishing a topic takes its queue with it: what is under way then is not forwarded.
    """
    for second in range(SECONDS):
        here = [message for message in messages if message.arrived_ns // S == second == message.second]
        yield from _within(second, here)


def _within(second: int, messages: Sequence[Message]) -> Iterator[tuple[Message, int]]:
    cycle = looks(second)
    queues: dict[Flow, deque[Message]] = defaultdict(deque)
    taken = waiting = place = 0
    now_ns = second * S
    while taken < len(messages) or waiting:
        if not waiting:
            # So many looks in vain until the next arrival.
            vain = max(0, -((now_ns - messages[taken].arrived_ns) // SEARCH_NS))
            now_ns, place = now_ns + vain * SEARCH_NS, (place + vain) % len(cycle)
        while taken < len(messages) and messages[taken].arrived_ns <= now_ns:
            queues[messages[taken].client, messages[taken].topic].append(messages[taken])
            taken, waiting = taken + 1, waiting + 1
        now_ns += SEARCH_NS
        if queue := queues[cycle[place]]:
            now_ns += RELAY_NS
            waiting -= 1
            yield queue.popleft(), now_ns
        place = (place + 1) % len(cycle)
