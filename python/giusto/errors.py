"""Every exception that giusto raises.

    GiustoError
    ├── InvalidInput(field, value, expected)      also a ValueError
    │   ├── FilterSyntax(text, position, problem)
    │   └── TooLarge(field, value, limit)
    ├── Unknown(kind, name)                       also a LookupError
    ├── Duplicate(kind, name)
    ├── Policed(flow)
    ├── QueueFull(flow, capacity)
    ├── StoreFull(flow, capacity)
    ├── ProtocolError(problem, offset)
    ├── Overload(message)
    ├── Refused(why, reason, nearest)
    ├── NotKept(path, problem)
    ├── Unreachable(address, problem)             also a ConnectionError
    ├── Closed(reason)                            also a ConnectionError
    ├── TimedOut(what, after_ns)                  also a TimeoutError
    ├── RequestFailed(error, text)
    ├── NotInstalled(what, remedy)
    ├── SparkFailed(problem)
    └── StaleExtension(message)

The arguments are attributes of the same names. All of them can be pickled.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class GiustoError(Exception):
    """Root of the tree: `except GiustoError` catches everything that giusto raises on purpose."""


class InvalidInput(GiustoError, ValueError):
    """A value that cannot be accepted; nothing was changed."""

    def __init__(self, field: str, value: object, expected: str) -> None:
        super().__init__(field, value, expected)
        self.field = field
        self.value = value
        self.expected = expected

    def __str__(self) -> str:
        return f"{self.field} = {self.value}: expected {self.expected}"


class FilterSyntax(InvalidInput):
    """A content filter that does not parse; `position` counts characters from 0."""

    def __init__(self, text: str, position: int, problem: str) -> None:
        super().__init__("filter", text, problem)
        self.args = (text, position, problem)
        self.text = text
        self.position = position
        self.problem = problem

    def __str__(self) -> str:
        return f"{self.problem} at position {self.position}\n  {self.text}\n  {' ' * self.position}^"


class TooLarge(InvalidInput):
    """More bytes than the offer or the frame limit allows."""

    def __init__(self, field: str, value: int, limit: int) -> None:
        super().__init__(field, value, f"at most {limit} bytes")
        self.args = (field, value, limit)
        self.limit = limit


class Unknown(GiustoError, LookupError):
    """Nothing of that name exists."""

    def __init__(self, kind: str, name: str) -> None:
        super().__init__(kind, name)
        self.kind = kind
        self.name = name

    def __str__(self) -> str:
        return f"unknown {self.kind} {self.name}"


class Duplicate(GiustoError):
    """The name is taken."""

    def __init__(self, kind: str, name: str) -> None:
        super().__init__(kind, name)
        self.kind = kind
        self.name = name

    def __str__(self) -> str:
        return f"{self.kind} {self.name} exists already"


class Policed(GiustoError):
    """A message came sooner than its publisher had offered; it was dropped and counted."""

    def __init__(self, flow: int) -> None:
        super().__init__(flow)
        self.flow = flow

    def __str__(self) -> str:
        return f"flow {self.flow} sends faster than it offered: the message was dropped"


class QueueFull(GiustoError):
    """As many messages wait as the flow may have; this one was dropped and counted."""

    def __init__(self, flow: int, capacity: int) -> None:
        super().__init__(flow, capacity)
        self.flow = flow
        self.capacity = capacity

    def __str__(self) -> str:
        return f"flow {self.flow} is full: {self.capacity} messages wait"


class StoreFull(GiustoError):
    """As many messages are stored, of all flows together, as there may be; this one was dropped."""

    def __init__(self, flow: int, capacity: int) -> None:
        super().__init__(flow, capacity)
        self.flow = flow
        self.capacity = capacity

    def __str__(self) -> str:
        return f"{self.capacity} messages are stored, and no more can be: one of flow {self.flow} was dropped"


class ProtocolError(GiustoError):
    """Bytes that are not a frame; `offset` is where they stop making sense."""

    def __init__(self, problem: str, offset: int) -> None:
        super().__init__(problem, offset)
        self.problem = problem
        self.offset = offset

    def __str__(self) -> str:
        return f"{self.problem} at byte {self.offset}"


class Overload(GiustoError):
    """More traffic than the policy can ever serve: no bound exists."""


def milliseconds(ns: int) -> str:
    """Every digit: a value that was rounded down would be refused again."""
    whole, part = divmod(ns, 1_000_000)
    return f"{whole}.{part:06}".rstrip("0").rstrip(".") + " ms"


class Nearest(NamedTuple):
    """What could be granted instead: the smallest `max_latency`, the largest rate.

    None if nothing helps, or if it would have taken too long to find out.
    """

    max_latency_ns: int | None = None
    count: int | None = None  # type: ignore[assignment]  # not the method of tuples
    period_ns: int | None = None

    def __str__(self) -> str:
        ways = []
        if self.max_latency_ns is not None:
            ways.append(f"a max_latency of {milliseconds(self.max_latency_ns)}")
        if self.count is not None and self.period_ns is not None:
            messages = "message" if self.count == 1 else "messages"
            ways.append(f"at most {self.count} {messages} per {milliseconds(self.period_ns)}")
        return ", or ".join(ways) or "nothing"


class Refused(GiustoError):
    """The bus cannot promise what was asked; nothing was changed.

    `why` is a word: latency, others, overload, tolerance, max_sep, rate, no_limit, unlimited_beside, queue
    or datagrams; `reason` says it as a sentence. `nearest` is what would be granted now, if anything is.
    """

    def __init__(self, why: str, reason: str, nearest: Sequence[int | None] | None = None) -> None:
        found = None if nearest is None else Nearest(*nearest)
        super().__init__(why, reason, found)
        self.why = why
        self.reason = reason
        self.nearest = found

    def __str__(self) -> str:
        if self.nearest is None or self.why in ("max_sep", "rate"):
            return self.reason
        return f"{self.reason}; the nearest that is possible: {self.nearest}"


class NotKept(GiustoError):
    """A contract could not be written where it survives a restart; nothing was changed."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(path, problem)
        self.path = path
        self.problem = problem

    def __str__(self) -> str:
        return f"contracts cannot be kept in {self.path}: {self.problem}; make room for them and ask again"


class Unreachable(GiustoError, ConnectionError):
    """No broker answers at the address."""

    def __init__(self, address: str, problem: str) -> None:
        super().__init__(address, problem)
        self.address = address
        self.problem = problem

    def __str__(self) -> str:
        return f"no broker at {self.address}: {self.problem}"


class Closed(GiustoError, ConnectionError):
    """The connection, or what was made on it, is closed."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason

    def __str__(self) -> str:
        return self.reason


class TimedOut(GiustoError, TimeoutError):
    """What was waited for did not happen in time; without a time, it never will on a bus in memory."""

    def __init__(self, what: str, after_ns: int | None) -> None:
        super().__init__(what, after_ns)
        self.what = what
        self.after_ns = after_ns

    def __str__(self) -> str:
        if self.after_ns is None:
            return f"{self.what}: nothing is under way"
        return f"{self.what}: nothing after {self.after_ns / 1e9:g} s"


class RequestFailed(GiustoError):
    """The handler of a request raised: the name of the exception there, and its text."""

    def __init__(self, error: str, text: str) -> None:
        super().__init__(error, text)
        self.error = error
        self.text = text

    def __str__(self) -> str:
        return f"the handler raised {self.error}: {self.text}"


class NotInstalled(GiustoError):
    """An optional part needs something that this machine lacks; `remedy` says what to do."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(what, remedy)
        self.what = what
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.what} is missing: {self.remedy}"


class SparkFailed(GiustoError):
    """Spark did not start, or went away; what was written before stays."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem

    def __str__(self) -> str:
        return f"Spark failed: {self.problem}"


class StaleExtension(GiustoError):
    """The native extension was not built from the sources beside it: run `make build`."""
