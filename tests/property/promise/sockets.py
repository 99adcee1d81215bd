"""What has been sent and not been read: a queue of frames for each client, filled as virtual time passes."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

from scene import HEADER_BYTES


class Message(NamedTuple):
    """A message that arrives at the broker's socket at `at_ns`."""

    at_ns: int
    order: int
    client: str
    topic: str
    size_bytes: int

    @property
    def flow(self) -> tuple[str, str]:
        return self.client, self.topic


class Sockets:
    """Frames on their way, by time, and frames that wait to be read, by client."""

    def __init__(self, clients: Iterable[str]) -> None:
        self._coming: list[Message] = []
        self._waiting: dict[str, deque[Message]] = {client: deque() for client in clients}
        self._begun_bytes = dict.fromkeys(self._waiting, 0)
        self._order = 0

    def send(self, at_ns: int, client: str, topic: str, size_bytes: int) -> None:
        """A message that will have arrived at `at_ns`."""
        self._order += 1
        heapq.heappush(self._coming, Message(at_ns, self._order, client, topic, size_bytes))

    def _arrive(self, now: int) -> None:
        while self._coming and self._coming[0].at_ns <= now:
            message = heapq.heappop(self._coming)
            self._waiting[message.client].append(message)

    def ready(self, now: int) -> list[str]:
        """Clients with something to read."""
        self._arrive(now)
        return [client for client, queue in self._waiting.items() if queue]

    def take(self, client: str, most_bytes: int, now: int) -> tuple[list[Message], int]:
        """The messages that end within the next `most_bytes`, and how much of one more has been read."""
        self._arrive(now)
        queue, left = self._waiting[client], most_bytes
        messages: list[Message] = []
        while queue and left > 0:
            open_bytes = queue[0].size_bytes + HEADER_BYTES - self._begun_bytes[client]
            if open_bytes > left:
                self._begun_bytes[client] += left
                return messages, left
            left -= open_bytes
            self._begun_bytes[client] = 0
            messages.append(queue.popleft())
        return messages, 0

    def next_ns(self) -> int | None:
        """When the next message arrives."""
        return self._coming[0].at_ns if self._coming else None

    def has_any(self) -> bool:
        """Whether anything is on its way or waits."""
        return bool(self._coming) or any(self._waiting.values())

    def has_any_now(self, now: int) -> bool:
        """Whether anything waits."""
        return bool(self.ready(now))
