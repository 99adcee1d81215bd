"""A broker in memory and the clients on it: what happens, in which order, and when.

The broker is the real one, data path and control plane, without sockets and threads. Bytes of a client
reach it `delay_ns` after they were sent. Time stands still unless somebody advances the clock or waits.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from dataclasses import replace
from uuid import uuid4

from giusto import _core
from giusto.broker import Control
from giusto.config import BrokerConfig
from giusto.contract import Duration, duration_ns
from giusto.errors import InvalidInput

LOSSES_NS = 200_000_000
"""As often as a live broker tells what was lost."""


class Clock:
    """Virtual time in nanoseconds, from 0."""

    def __init__(self, world: World) -> None:
        self._world = world

    @property
    def now_ns(self) -> int:
        """The time."""
        return self._world.now_ns

    def advance(self, duration: Duration) -> None:
        """Let time pass; everything that is due meanwhile happens."""
        self._world.advance_to(self._world.now_ns + duration_ns(duration))

    def __repr__(self) -> str:
        return f"<Clock at {self.now_ns} ns>"


class World:
    """One broker, its clients, and the bytes under way between them."""

    def __init__(self, config: BrokerConfig | None, delay_ns: int) -> None:
        config = delayed(config or BrokerConfig(), delay_ns)
        require_no_store(config)
        run = uuid4().hex
        version = _core.VERSION
        self.now_ns = 0
        self.delay_ns = delay_ns
        self._plane = _core.MemoryPlane(**config.engine_options(), run=run, node="memory")
        self._control = Control(self._plane, config, run=run, version=version, clock=lambda: self.now_ns)
        self._clients: dict[int, tuple[_core.Connection, Callable[[], None]]] = {}
        self._sent: list[tuple[int, int, int, bytes]] = []
        self._order = itertools.count()
        self._losses_ns = LOSSES_NS
        self._woken: list[Callable[[], None]] = []

    def join(self, native: _core.Connection, attend: Callable[[], None]) -> int:
        """A client connects; `attend` is called when something came for it."""
        native.set_now(self.now_ns)
        native.drain()
        native.open_memory()
        conn = self._plane.open()
        self._clients[conn] = (native, attend)
        return conn

    def leave(self, conn: int, last: bytes = b"") -> None:
        """A client's connection ends; what it sent before still arrives, and its last words."""
        if conn in self._clients:
            self._collect()
            self._arrive_last(conn)
            self._plane.feed(self.now_ns, conn, last)
            del self._clients[conn]
            self._plane.hang_up(self.now_ns, conn)
            self.settle()

    def advance_to(self, then_ns: int) -> None:
        """Let everything happen that is due until then."""
        self.settle()
        while (due_ns := self._next_ns()) <= then_ns:
            self._move_to(due_ns)
            self.settle()
        self._move_to(then_ns)
        self.settle()

    def idle(self, deadline_ns: int | None) -> bool:
        """Somebody waits: let the next thing happen. False if there is none before the deadline, or ever."""
        if self.settle():
            return True
        if not self._sent and deadline_ns is None:
            return False
        due_ns = self._next_ns() if deadline_ns is None else min(self._next_ns(), deadline_ns)
        self._move_to(max(due_ns, self.now_ns))
        self.settle()
        return True

    def settle(self) -> bool:
        """Let everything happen that needs no time; whether there was anything."""
        has_moved = False
        while True:
            while self._turn():
                has_moved = True
            if not self._woken:
                return has_moved
            # Callbacks may wait themselves, and so come back here.
            woken, self._woken = self._woken, []
            for attend in woken:
                attend()

    def _turn(self) -> bool:
        self._collect()
        has_moved = self._arrive(self.now_ns)
        while self._control.turn(0) or self._plane.step(self.now_ns):
            has_moved = True
        return self._deliver() or has_moved

    def _collect(self) -> None:
        """Take what clients have sent; it arrives later."""
        for conn, (native, _) in self._clients.items():
            sent = native.drain()
            if sent:
                heapq.heappush(self._sent, (self.now_ns + self.delay_ns, next(self._order), conn, sent))

    def _arrive(self, until_ns: int) -> bool:
        has_arrived = False
        while self._sent and self._sent[0][0] <= until_ns:
            _, _, conn, sent = heapq.heappop(self._sent)
            if conn in self._clients:
                self._plane.feed(self.now_ns, conn, sent)
                has_arrived = True
        return has_arrived

    def _arrive_last(self, conn: int) -> None:
        """What a client that leaves has under way arrives before it has left; that of others in its time."""
        for *_, sent in sorted(one for one in self._sent if one[2] == conn):
            self._plane.feed(self.now_ns, conn, sent)
        self._sent = [one for one in self._sent if one[2] != conn]
        heapq.heapify(self._sent)

    def _deliver(self) -> bool:
        has_delivered = False
        for conn, (native, attend) in list(self._clients.items()):
            received = self._plane.drain(self.now_ns, conn)
            if received:
                native.feed(received)
                self._woken.append(attend)
                has_delivered = True
        return has_delivered

    def _next_ns(self) -> int:
        """When something happens next; losses are told again and again."""
        return min(self._sent[0][0], self._losses_ns) if self._sent else self._losses_ns

    def _move_to(self, then_ns: int) -> None:
        self.now_ns = then_ns
        for native, attend in list(self._clients.values()):
            native.set_now(then_ns)
            self._woken.append(attend)
        if then_ns >= self._losses_ns:
            self._losses_ns = then_ns + LOSSES_NS
            self._control.report_losses()
            self._control.tend()


def delayed(config: BrokerConfig, delay_ns: int) -> BrokerConfig:
    """The configuration of a broker whose publishers are so far away: its promises contain the delay."""
    terms = config.guarantee
    further = replace(terms, link_delay_in_ns=terms.link_delay_in_ns + delay_ns)
    return replace(config, guarantee=further)


def require_no_store(config: BrokerConfig) -> None:
    """Raise `InvalidInput` if contracts are to be kept: a broker in memory is never started again."""
    if config.guarantee.store is not None:
        expected = "none: a bus in memory keeps nothing; a broker in its own process, `giusto broker`, does"
        raise InvalidInput("guarantee.store", config.guarantee.store, expected)
