"""When a broker serves, drains and stops: the thread that runs the control plane, and the signals.

The data plane has a thread of its own, native. One Python thread waits for what concerns the control plane.
The caller's thread is left alone, so that signals always find it.
"""

from __future__ import annotations

import errno
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Self, TypeAlias
from uuid import uuid4

from giusto import _core
from giusto.broker import realtime
from giusto.broker.address import client_address, is_open, main_address, udp_port
from giusto.broker.bell import Bell, signals_end_process
from giusto.broker.control import Control
from giusto.broker.store import Store
from giusto.config import BrokerConfig
from giusto.errors import GiustoError, InvalidInput
from giusto.guarantee import basis
from giusto.trace.clock import wall_offset_ns

if TYPE_CHECKING:
    from giusto.trace import TraceWriter

LOSSES_EVERY_NS = 200_000_000
FORGET_EVERY_NS = 15_000_000_000
FACTS_EVERY_NS = 1_000_000_000

_log = logging.getLogger("giusto.broker")


class Broker:
    """A running broker: made, started with `start` or `with`, stopped with `stop` or a signal in `run`."""

    def __init__(self, config: BrokerConfig | None = None) -> None:
        self.config = BrokerConfig() if config is None else config
        self.run_id = uuid4().hex
        self.outcomes: list[realtime.Outcome] = []
        self.failure: BaseException | None = None
        self.restored = 0
        # Messages that retained patterns miss, by where they were lost: whoever keeps them says it here.
        self.unkept: dict[str, dict[str, int]] = {}
        self.costs = basis.costs_of(self.config)
        store = self.config.guarantee.store
        self._store = None if store is None else Store(store, alone=True)
        self.node = os.uname().nodename
        self._plane = _core.Plane(
            **self.config.engine_options(),
            **self.config.plane_options(),
            run=self.run_id,
            node=self.node,
        )
        self._trace = self._traced()
        self._thread = threading.Thread(target=self._serve, name="giusto-control", daemon=True)
        self._begun = threading.Event()
        self._stopping = threading.Event()
        self._stopped = threading.Event()
        self._bell: Bell | None = None

    @property
    def addresses(self) -> list[str]:
        """What it listens on, with the ports that it got."""
        return self._plane.addresses

    @property
    def address(self) -> str:
        """Where `giusto.connect` finds it."""
        return client_address(main_address(self.addresses))

    @property
    def remarks(self) -> list[str]:
        """On what its promises rest, and where they are kept."""
        said = [basis.remark(self.config, self.costs)]
        if self._store is not None:
            said.append(self._store.remark(self.restored, self.config.guarantee.reserve_ns))
        return said

    def start(self) -> None:
        """Serve from now on, in threads of its own."""
        self._plane.start()
        self.outcomes = realtime.apply(self.config.realtime, self._plane)
        if self._trace is not None:
            self._trace.start()
        self._thread.start()
        self._begun.wait()

    def stop(self) -> None:
        """Send what waits, say goodbye to all and stop; returns when that is done."""
        self._ask_to_stop()
        if self._thread.ident is not None:
            self._thread.join()

    def run(self, ready: Callable[[], None] = lambda: None) -> signal.Signals | None:
        """Wait for the end: a signal, `stop` or a failure. Says which signal cut it short, if one did.

        `ready` is called when signals are heard: from then on SIGTERM drains.
        """
        with Bell() as bell, bell.signals():
            self._bell = bell
            ready()
            while not self._stopped.is_set():
                heard = bell.wait()
                if heard is not None and self._stopping.is_set():
                    return heard
                if heard is not None:
                    self._ask_to_stop()
        return None

    def drain_records(self) -> _core.Batch | None:
        """The records since the last call, if the configuration keeps any and does not trace them."""
        return self._plane.drain_records() if self._trace is None else None

    def _traced(self) -> TraceWriter | None:
        """Who writes the records, if they are traced."""
        if self.config.trace.folder is None:
            return None
        from giusto.trace import TraceWriter

        return TraceWriter(self.config.trace, self._plane.drain_portion, node=self.node, run=self.run_id)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def _ask_to_stop(self) -> None:
        self._stopping.set()
        self._plane.wake()

    def _serve(self) -> None:
        """The control thread."""
        try:
            clock = time.monotonic_ns
            control = Control(
                self._plane,
                self.config,
                run=self.run_id,
                version=_version(),
                clock=clock,
                udp_port=udp_port(self.addresses),
                costs=self.costs,
                store=self._store,
                node=os.uname().nodename,
                unkept=lambda: self.unkept,
            )
            self.restored = control.restored
            self._begun.set()
            serve_control(control, self._stopping.is_set, clock, self._state_facts)
            control.announce_closing("the broker is shutting down")
            self._plane.stop(self.config.drain_ns)
        except BaseException as error:
            # `run` says it to whoever waits; there is nobody above this thread to raise it to.
            self.failure = error
            _log.exception("the control plane failed")
            self._abandon()
        finally:
            if self._store is not None:
                self._store.close()
            if self._trace is not None:
                self._trace.stop()
            self._stopping.set()
            self._stopped.set()
            self._begun.set()
            if self._bell is not None:
                self._bell.ring()

    def _state_facts(self, control: Control) -> None:
        """Has the trace say what topics and clients are allotted."""
        if self._trace is not None:
            seen = {"run": self.run_id, "node": self.node, "at_ns": time.monotonic_ns()}
            self._trace.state({**seen, "wall_offset_ns": wall_offset_ns(), **control.facts()})

    def _abandon(self) -> None:
        """Without a control plane the data plane is of no use: clients shall notice and go elsewhere."""
        try:
            self._plane.stop(0)
        except GiustoError as error:
            _log.debug("the data plane had stopped: %s", error)


def serve_control(
    control: Control,
    stopping: Callable[[], bool],
    clock: Callable[[], int],
    state_facts: Callable[[Control], None] = lambda control: None,
) -> None:
    """Handle what happens until `stopping`; losses, contracts, facts and vacant topics at their times."""
    losses_at = forget_at = facts_at = clock()
    extent = control.registry.extent
    while not stopping():
        now = clock()
        busy = bool(control.registry.clients) or control.leaving.has_due
        if busy and now >= losses_at:
            control.report_losses()
            control.tend()
            losses_at = now + LOSSES_EVERY_NS
            if now >= facts_at:
                state_facts(control)
                facts_at, extent = now + FACTS_EVERY_NS, control.registry.extent
        if now >= forget_at:
            control.forget_vacant()
            forget_at = now + FORGET_EVERY_NS
        control.turn(max(0, min(losses_at, forget_at) - now) if busy else max(0, forget_at - now))
    if control.registry.extent != extent:
        state_facts(control)


Attend: TypeAlias = Callable[[Broker], AbstractContextManager[object]]


def serve(config: BrokerConfig, attend: Attend = nullcontext) -> int:
    """Run a broker in this process until a signal; the exit status, after which the process is to end.

    A second signal ends it at once.

    `attend` gives what runs beside it, from before clients are told that it is ready until it has stopped.
    """
    try:
        broker = Broker(config)
        broker.start()
    except GiustoError as error:
        print(f"giusto: {why_not(error)}", file=sys.stderr)
        return 1
    for outcome in broker.outcomes:
        print(outcome, file=sys.stderr)
    for address in broker.addresses:
        if address != main_address(broker.addresses):
            print(f"also listens on {address}", file=sys.stderr)
    for address in filter(is_open, broker.addresses):
        print(f"{address}: every machine that reaches this one may connect", file=sys.stderr)
    for remark in broker.remarks:
        print(remark, file=sys.stderr)
    if broker.failure is not None:
        print(f"giusto: {broker.failure}", file=sys.stderr)
        return 1
    try:
        with signals_end_process(), attend(broker):
            run_until_stopped(broker)
    except GiustoError as error:
        print(f"giusto: {error}", file=sys.stderr)
        broker.stop()
        return 1
    if broker.failure is not None:
        print(f"giusto: {broker.failure}", file=sys.stderr)
        return 1
    return 0


def run_until_stopped(broker: Broker) -> None:
    """Say that it is ready and wait for the end."""
    cut_short = broker.run(lambda: print(f"ready {broker.address}", flush=True))
    if cut_short is not None:
        said = f"giusto: {cut_short.name} again: stopped without sending what waits"
        print(said, file=sys.stderr, flush=True)
        os._exit(128 + cut_short)


def why_not(error: GiustoError) -> str:
    """Why a broker did not start, with the name of the setting and what to do."""
    if not isinstance(error, InvalidInput) or not error.field.startswith("listen["):
        return str(error)
    if os.strerror(errno.EADDRINUSE) in error.expected:
        return f"broker.listen = {error.value}: in use by another program; see `giusto doctor`"
    return f"broker.{error}"


def _version() -> str:
    from importlib.metadata import version

    return version("giusto")
