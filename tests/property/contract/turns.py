"""An input policy written in Python: flows that have messages take turns."""

from __future__ import annotations

from giusto import _core


class Turns:
    """The flow that was served longest ago is next."""

    lanes = "flow"

    def __init__(self) -> None:
        self.waiting: list[int] = []
        self.joined: list[tuple[int, int]] = []

    def allot(self, topic: int, share: _core.Share) -> None:
        assert share.weight > 0

    def join(self, topic: int, flow: int) -> None:
        self.joined.append((topic, flow))

    def arrived(self, lane: int, topic: int, oldest_ns: int) -> None:
        assert lane not in self.waiting
        assert (topic, lane) in self.joined
        self.waiting.append(lane)

    def choose(self, now_ns: int) -> int:
        return self.waiting[0]

    def served(self, lane: int, oldest_ns: int | None) -> None:
        self.waiting.remove(lane)
        if oldest_ns is not None:
            self.waiting.append(lane)
