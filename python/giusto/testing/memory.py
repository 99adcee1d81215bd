"""A bus without a network: the API of `giusto.connect` in one process, one thread and virtual time."""

from __future__ import annotations

import threading
from collections.abc import Callable

from giusto import _core
from giusto.client import Bus, Report
from giusto.client.dispatcher import Periodic, dispatch
from giusto.client.face import weak_hook
from giusto.client.operation import Pause, Step
from giusto.client.report import Periods
from giusto.config import BrokerConfig
from giusto.contract import Duration, duration_ns
from giusto.testing.world import Clock, World


class MemoryBus(Bus):
    """A client of a broker in memory. `connect` makes further clients of the same broker.

    What is published arrives `delay` later in virtual time. Time passes when a test calls `clock.advance`, or
    waits: `receive(timeout)` goes on to the message or to the end of the timeout. An iteration ends when
    nothing is under way any more. Callbacks and handlers are called by whoever lets time pass.
    """

    def __init__(
        self,
        config: BrokerConfig | None = None,
        *,
        name: str | None = None,
        delay: Duration = 0,
        reconnect: bool = True,
        world: World | None = None,
    ) -> None:
        self._world = world or World(config, duration_ns(delay, "delay"))
        self._conn = -1
        self._periodics: list[Periodic] = []
        super().__init__("memory", name=name, reconnect=reconnect)

    @property
    def clock(self) -> Clock:
        """The virtual clock, of all clients of this broker."""
        return Clock(self._world)

    def connect(self, *, name: str | None = None, reconnect: bool = True) -> MemoryBus:
        """Another client of the same broker."""
        return MemoryBus(name=name, reconnect=reconnect, world=self._world)

    def break_connection(self) -> None:
        """Lose the connection, as if a cable were pulled."""
        self._world.leave(self._conn)
        self._native.give_up("the test broke the connection")
        self._look()

    def close(self) -> None:
        """Say goodbye and close. Iterations end; who waits otherwise gets `Closed`."""
        self._world.settle()
        super().close()
        self._world.leave(self._conn, _core.encode_goodbye())

    # --- instead of sockets and threads

    def _make_native(self) -> _core.Connection:
        return _core.Connection(attend=weak_hook(self._attend), idle=self._world.idle, in_memory=True)

    def _open(self) -> None:
        self._conn = self._world.join(self._native, weak_hook(self._look))

    def _connect_beside(self, name: str | None) -> MemoryBus:
        return self.connect(name=name, reconnect=self._reconnects)

    def _do(self, step: Step) -> object:
        if isinstance(step, Pause):
            self._world.advance_to(self._world.now_ns + step.nanoseconds)
            return None
        return super()._do(step)

    def _restore_beside(self) -> None:
        self._restorer = threading.current_thread()
        self._restore()

    def _dispatch_if(self, wanted: bool) -> None:
        """There is no thread: callbacks are called when something comes."""

    def on_report(self, callback: Callable[[list[Report]], object], every: Duration = 1) -> None:
        """Call back with the reports of each period; once for a bus."""
        every_ns = duration_ns(every, "every", least_ns=1)
        self._take_reports()
        self._periodics.append(Periodic(callback, Periods(every_ns, self._native.now)))

    def _look(self) -> None:
        """Something came, or time has passed."""
        if self._native.wants_attention:
            self._attend()
        for key in self._native.take_announced():
            dispatch(self, key)
        for periodic in self._periodics:
            periodic.call_if_due(self)
