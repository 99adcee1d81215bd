"""What a bus has in common whichever way its user waits."""

from __future__ import annotations

import atexit
import itertools
import logging
import os
import threading
import time
import weakref
from collections import OrderedDict, deque
from collections.abc import Callable
from types import MethodType
from typing import Any, TypeAlias

from giusto import _core
from giusto.client.events import Event, EventQueue, Lost, Restored
from giusto.client.exchange import SECOND, Exchange, reply_topic
from giusto.client.ledger import Ledger
from giusto.client.operation import Ask
from giusto.client.report import Report
from giusto.contract import Duration, Offer, duration_ns
from giusto.errors import Closed, Duplicate, InvalidInput, ProtocolError, TimedOut, Unreachable
from giusto.protocol import Connected, encode

ADDRESS = "giusto://127.0.0.1:7447"
VARIABLE = "GIUSTO_ADDRESS"
QUEUE = 65_536
RECORDS = 262_144
"""Records that wait for the writer of a bus that traces."""
TraceFolder: TypeAlias = str | os.PathLike[str] | None
log = logging.getLogger("giusto")
ELSEWHERE = "the bus was made in another process: connect again after a fork"
LEAVE_NS = 1_000_000_000
"""What waits to be sent has this long to leave when a bus is closed."""
GRACE_S = 0.1
"""At the end of a program its own threads have this long to come back from a bus that was left open."""
_clients = itertools.count(1)
_open: weakref.WeakSet[AnyBus] = weakref.WeakSet()


class AnyBus:
    """A connection to a broker with all that was asked for on it."""

    def __init__(
        self,
        address: str,
        name: str | None,
        timeout: Duration,
        reconnect: bool,
        trace: TraceFolder = None,
    ) -> None:
        self.address = _text(address, "address", ADDRESS)
        if name is not None and not _text(name, "name", "monitor"):
            raise InvalidInput("name", "", "a name with at least one letter, or none to get one")
        self.name = name or f"{os.uname().nodename}-{os.getpid()}-{next(_clients)}"
        self._is_unnamed = name is None
        self._timeout_ns = duration_ns(timeout, "timeout", least_ns=1)
        self._reconnects = reconnect
        self._ledger = Ledger()
        self._events = EventQueue()
        self._untold: deque[Event] = deque()
        self._connected: Connected | None = None
        self._exchange: Exchange | None = None
        self._native: _core.Connection
        self._process = os.getpid()
        self._has_reports = False
        self._is_second = False
        self._trace_folder = None if trace is None else os.fspath(trace)
        self._end_trace: Callable[[], object] = lambda: None
        # Publishers that requests and replies have made, by topic.
        self._requesters: dict[str, Any] = {}
        self._repliers: OrderedDict[str, Any] = OrderedDict()
        _open.add(self)

    @property
    def run(self) -> str:
        """The run of the broker that the bus is, or was last, connected to."""
        return "" if self._connected is None else self._connected.run

    @property
    def is_connected(self) -> bool:
        """Whether messages can go out and come in now."""
        return self._native.is_connected

    def __repr__(self) -> str:
        state = "connected" if self.is_connected else "not connected"
        return f"<{type(self).__module__}.{type(self).__name__} {self.name} at {self.address}, {state}>"

    def recent_reports(self) -> list[Report]:
        """The report of each subscription since this was last asked."""
        now_ns = self._native.now
        return [one._recent_report(now_ns) for one in list(self._ledger.subscriptions.values())]

    # --- records of what comes in

    @property
    def _record_capacity(self) -> int:
        """Records that the native connection has room for."""
        return 0 if self._trace_folder is None else RECORDS

    def _begin_trace(self) -> None:
        """Write what the native connection records, until `_end_trace`, or until nobody has the bus."""
        if self._trace_folder is None:
            return
        from giusto.trace import Options, TraceWriter

        options = Options(folder=self._trace_folder, capacity=RECORDS)
        writer = TraceWriter(options, self._native.drain_portion, node=self.name, run=self.run)
        writer.start()
        self._end_trace = weakref.finalize(self, writer.stop)

    # --- the end

    def _stop(self) -> bool:
        """Begin nothing any more, such as another connection; whether it was open until now."""
        raise NotImplementedError

    def _stop_threads(self) -> None:
        """Wait for the threads of a bus that has ended: none may be in native code when the program ends."""

    # --- shared decisions

    def _check_process(self) -> None:
        """Raise `Closed` in a child of the process that made the bus."""
        if self._process != os.getpid():
            raise Closed(ELSEWHERE)

    def _take_reports(self) -> None:
        """Somebody asks for the reports of each period, which are counted once."""
        if self._has_reports:
            raise Duplicate("on_report", f"of {self.name}")
        self._has_reports = True

    def _take_in(self) -> bool:
        """Take what the broker and the native session have to say; whether that is anything."""
        bodies, notes = self._native.take_control(), self._native.take_notes()
        for body in bodies:
            self._settle(body)
        self._send_undo()
        gaps = self._native.udp_port is not None
        self._untold.extend(self._ledger.notes(notes, gaps=gaps))
        return bool(bodies or notes)

    def _settle(self, body: bytes) -> None:
        try:
            self._untold.extend(self._ledger.settle(body))
        except ProtocolError as error:
            # A broker of another version may have more to say than this client knows.
            log.warning("the broker said what this client cannot read: %s", error)

    def _send(self, ask: Ask, number: int) -> None:
        """Make a request for the connection as it is, and send it if there is something to ask."""
        request = ask.make(id=number)
        if request is not None:
            self._ledger.expect(number, ask.party)
            self._native.send(encode(request))

    def _forget(self, number: int) -> None:
        """Nobody waits for this answer any more, if it has not been taken."""
        self._ledger.forget_request(number)
        self._send_undo()

    def _send_undo(self) -> None:
        for request in self._ledger.take_undo():
            self._native.send(encode(request))

    def _note_loss(self, loss: tuple[str, int, int], *, again: bool) -> str:
        """Give the connection up; the reason, in the broker's own words if it gave some.

        An attempt to restore it that fails is told only if messages were lost with it.
        """
        reason = self._ledger.closing or loss[0]
        unsent = self._native.give_up(reason)
        self._ledger.fail_requests(Closed(f"connection lost: {reason}"))
        if not again or unsent or loss[2]:
            self._untold.append(Lost(reason, unsent, loss[2]))
        return reason

    def _note_restored(self, connected: Connected, restored: Restored) -> None:
        self._connected = connected
        self._untold.append(restored)

    def _tell(self) -> None:
        """Queue what happened for `events` and call the handlers for it."""
        while True:
            try:
                event = self._untold.popleft()
            except IndexError:
                return
            self._events.put(event)
            party = getattr(event, "party", None) or getattr(event, "subscription", None)
            handler = None if party is None else party.handlers.of(event)
            if handler is not None:
                self._call(handler, event)

    def _call(self, handler: Callable[[Any], object], argument: object) -> None:
        try:
            handler(argument)
        except Exception as error:
            failed(error)

    @property
    def _has_limits(self) -> bool:
        """Whether it publishes something that may be under contract, so that the rest needs a limit too."""
        return not self._is_second and any(
            one.offer.limit is not None for one in list(self._ledger.publishers.values())
        )

    def _take_unlimited(self, beside: Offer) -> list[Any]:
        """The publishers of requests and replies that must not stay beside an offer, as they have no limit.

        Whoever asks or answers next does so on the second connection.
        """
        if beside.limit is None or self._is_second:
            return []
        taken: list[Any] = []
        for made in (self._requesters, self._repliers):
            taken += [made.pop(topic) for topic, one in list(made.items()) if one.offer.limit is None]
        return taken

    @property
    def _second_name(self) -> str | None:
        """Of the second connection; nobody can come back for one that was made up."""
        return None if self._is_unnamed else self.name + SECOND

    @property
    def _is_lost(self) -> bool:
        """Whether the connection has ended for good."""
        return not self._reconnects and not self.is_connected

    def _exchanges(self) -> Exchange:
        if self._exchange is None:
            self._exchange = Exchange(reply_topic(self.name))
        return self._exchange


@atexit.register
def _leave() -> None:
    """A program that ends without closing its buses has still sent what it published.

    A thread that comes back from native code when the interpreter is gone takes the whole process with it.
    """
    buses = [bus for bus in list(_open) if bus._process == os.getpid()]
    left_open = [bus for bus in buses if bus._stop()]
    for bus in left_open:
        bus._native.end("the process ends", LEAVE_NS, is_wanted=True)
    for bus in buses:
        bus._stop_threads()
    if left_open:
        _wait_for_daemons(time.monotonic() + GRACE_S)


def _wait_for_daemons(end: float) -> None:
    """Let the threads that waited on a bus come back from it; others of the program may go on for ever."""
    for thread in threading.enumerate():
        if thread.daemon and thread is not threading.current_thread():
            thread.join(max(0, end - time.monotonic()))


def _disown() -> None:
    """A child has the sockets of its parent, but must neither read from nor write to them."""
    for bus in list(_open):
        bus._native.disown(ELSEWHERE)


os.register_at_fork(after_in_child=_disown)


def failed(error: BaseException) -> None:
    """A function of the user raised; there is nobody to raise it to."""
    log.error("a handler raised %s", error, exc_info=error)


def weak_hook(method: Callable[..., Any]) -> Callable[..., Any]:
    """The method without keeping its object alive."""
    assert isinstance(method, MethodType)
    weak = weakref.WeakMethod(method)

    def hook(*arguments: object) -> Any:
        alive = weak()
        return None if alive is None else alive(*arguments)

    return hook


def not_connected(error: BaseException, bus: AnyBus) -> BaseException:
    """Why a bus could not be connected, with what to do about it."""
    if isinstance(error, Unreachable):
        problem = f"{error.problem}; start one with `giusto broker`, or name its address"
        return Unreachable(error.address, problem)
    if isinstance(error, Closed | TimedOut) and not bus._native.is_broker:
        return Unreachable(bus.address, "what answers there is not a giusto broker")
    return error


def _text(given: object, field: str, example: str) -> str:
    if not isinstance(given, str):
        raise InvalidInput(field, given, f'text, such as "{example}"')
    return given


def broker_address(given: str | None) -> str:
    """Where to connect: what was said, else what the environment says, else this machine."""
    return given or os.environ.get(VARIABLE) or ADDRESS
