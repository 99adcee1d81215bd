"""What was read and is not yet written: how much of it there may be, and who waits for whom."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence

from giusto import _core

HELD_BYTES = 32 * 1024 * 1024
ROW_BYTES = 100
"""What a row takes beside its payload and its attributes, about."""


def size_of(message: _core.Message) -> int:
    """The bytes that a message takes as a row, about."""
    return ROW_BYTES + len(message.payload) + len(message.attribute_block)


class Handover:
    """Messages from the one who reads to the one who writes, in order.

    Whoever hands over waits while more than `most_bytes` are held: then the inbox fills, drops and counts.
    """

    def __init__(self, most_bytes: int = HELD_BYTES) -> None:
        self._most_bytes = most_bytes
        self._waiting: deque[tuple[Sequence[_core.Message], int]] = deque()
        self._held_bytes = 0
        self._is_over = False
        self._changed = threading.Condition()

    def put(self, messages: Sequence[_core.Message]) -> int:
        """Hand over, as soon as there is room; how many bytes these are."""
        size = sum(map(size_of, messages))
        with self._changed:
            self._changed.wait_for(
                lambda: not self._held_bytes or self._held_bytes + size <= self._most_bytes
            )
            self._waiting.append((messages, size))
            self._held_bytes += size
            self._changed.notify_all()
        return size

    def end(self) -> None:
        """Nothing more comes."""
        with self._changed:
            self._is_over = True
            self._changed.notify_all()

    def get(self, timeout_s: float | None) -> Sequence[_core.Message] | None:
        """What came next; nothing after the time is up, `None` at the end."""
        with self._changed:
            self._changed.wait_for(lambda: bool(self._waiting) or self._is_over, timeout_s)
            if not self._waiting:
                return None if self._is_over else []
            messages, size = self._waiting.popleft()
            self._held_bytes -= size
            self._changed.notify_all()
            return messages
