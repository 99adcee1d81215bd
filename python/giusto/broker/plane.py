"""What the control plane needs of a data plane: the native thread and its double in memory both have it.

A connection is a number that is never used again. Calls on a connection that has gone raise
`Unknown("connection", …)`; effects of calls from one thread happen in the order of the calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol, TypeAlias

from giusto import _core

Opened: TypeAlias = tuple[Literal["opened"], int, str]
Asked: TypeAlias = tuple[Literal["control"], int, bytes]
Gone: TypeAlias = tuple[Literal["closed"], int, str]
Event: TypeAlias = Opened | Asked | Gone
# Connection or nobody, topic, flow if the messages were the connection's own, reason, how many.
Loss: TypeAlias = tuple[int, int, int | None, str, int]

# Numbers of the error frames that the control plane sends; the wire format lists them all.
GOODBYE = 0
PROTOCOL_ERROR = 1
NOT_CONNECTED = 2
INTERNAL = 7


class Plane(Protocol):
    """The data plane, seen from the control plane."""

    def events(self, timeout_ns: int | None) -> list[Event]: ...
    def connect(self, conn: int, name: str, udp: tuple[str, int] | None = None) -> int: ...
    def declare(self, name: str, share: _core.Share | None = None) -> int: ...
    def forget(self, topics: Sequence[int]) -> list[int]: ...
    def guard(self, topics: Sequence[int], guarded: bool) -> list[int]: ...
    def allot(self, topic: int, share: _core.Share) -> None: ...
    def advertise(
        self,
        conn: int,
        topic: int,
        *,
        capacity: int | None = None,
        max_size_bytes: int | None = None,
        min_sep_ns: int | None = None,
        count: int | None = None,
        period_ns: int | None = None,
        burst: int | None = None,
        jitter_ns: int | None = None,
    ) -> int: ...
    def reoffer(
        self,
        conn: int,
        flow: int,
        *,
        max_size_bytes: int | None = None,
        min_sep_ns: int | None = None,
        count: int | None = None,
        period_ns: int | None = None,
        burst: int | None = None,
        jitter_ns: int | None = None,
    ) -> None: ...
    def unadvertise(self, conn: int, flow: int) -> None: ...
    def subscribe(
        self,
        conn: int,
        pattern: str,
        *,
        filter: _core.Filter | str | None = None,
        need: _core.Need | None = None,
    ) -> int: ...
    def unsubscribe(self, conn: int, subscription: int) -> None: ...
    def send(self, conn: int, body: bytes) -> None: ...
    def close(self, conn: int, code: int, text: str) -> None: ...
    def unread(self) -> list[int]: ...
    def losses(self) -> list[Loss]: ...
    def status(self) -> dict[str, Any]: ...
