"""Every exception that giusto raises.

    GiustoError
    ├── InvalidInput(field, value, expected)      also a ValueError
    │   ├── FilterSyntax(text, position, problem)
    │   ├── Missing(field, expected)
    │   └── TooLarge(field, value, limit)
    ├── Unknown(kind, name)                       also a LookupError
    ├── Duplicate(kind, name)
    ├── Policed(flow)
    ├── QueueFull(flow, capacity)
    ├── StoreFull(flow, capacity)
    ├── ProtocolError(problem, offset)
    ├── Overload(message)
    ├── Refused(why, reason, nearest, parts)
    ├── NotKept(path, problem)
    ├── NotRetained(log, problem)                 also a LookupError
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
from typing import Any, NamedTuple


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


class Missing(InvalidInput):
    """Nothing was given where a value is needed."""

    def __init__(self, field: str, expected: str) -> None:
        super().__init__(field, "nothing", expected)
        self.args = (field, expected)

    def __str__(self) -> str:
        return f"{self.field} is missing: expected {self.expected}"


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


RATE_UNITS = (("s", 1_000_000_000), ("min", 60_000_000_000), ("h", 3_600_000_000_000))
RATE_LEAST = 100
"""Rounded down to whole messages, a rate of so many is not much less."""


def rate_text(count: int, period_ns: int) -> str:
    """A rate as an offer takes it, rounded down: `236/s`, `1200/min`."""
    for unit, unit_ns in RATE_UNITS:
        whole, left = divmod(count * unit_ns, period_ns)
        if whole >= RATE_LEAST or (whole and not left):
            return f"{whole}/{unit}"
    return f"{count}/{period_ns}ns"


NAMES_MAX = 4
"""So many clients are named, and the others counted."""


def names_text(names: Sequence[str]) -> str:
    """`'bed-1', 'bed-2' and 7 more`."""
    shown = [repr(name) for name in names[:NAMES_MAX]]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


class Nearest(NamedTuple):
    """What could be granted instead, each by itself: None if it does not help, or would have taken too long.

    The smallest `max_latency`; the largest rate, `count` per `period_ns`, for those `publishers` that are
    faster, or all of their rates lower by so many thousandths; the least `guarantee.tolerance` of the broker;
    the largest `max_size`.
    """

    max_latency_ns: int | None = None
    count: int | None = None  # type: ignore[assignment]  # not the method of tuples
    period_ns: int | None = None
    publishers: tuple[str, ...] = ()
    lower_permille: int | None = None
    tolerance_ns: int | None = None
    max_size_bytes: int | None = None

    def __str__(self) -> str:
        ways = []
        if self.max_latency_ns is not None:
            ways.append(f"a max_latency of {milliseconds(self.max_latency_ns)}")
        if self.tolerance_ns is not None:
            ways.append(f"a guarantee.tolerance of {milliseconds(self.tolerance_ns)}")
        if self.max_size_bytes is not None:
            ways.append(f"a max_size of {self.max_size_bytes}")
        if self.count is not None and self.period_ns is not None:
            ways.append(self._slower(self.count, self.period_ns))
        return ", or ".join(ways) or "nothing"

    def _slower(self, count: int, period_ns: int) -> str:
        most = f"at most {rate_text(count, period_ns)}"
        if self.lower_permille is not None:
            whose = f" of {names_text(self.publishers)}" if self.publishers else ""
            return f"all rates{whose} lower by {self.lower_permille / 10:g} % ({most})"
        return f"{most} from {names_text(self.publishers)}" if self.publishers else most


class Refused(GiustoError):
    """The bus cannot promise what was asked; nothing was changed.

    `why` is a word: latency, others, overload, tolerance, max_sep, rate, no_limit, unlimited_beside, queue
    or datagrams; `reason` says it as a sentence. `nearest` is what would be granted now, if anything is.
    `parts` are the terms (name, nanoseconds, label) of the bound that is too long, if that is why.
    """

    def __init__(
        self,
        why: str,
        reason: str,
        nearest: Sequence[Any] | None = None,
        parts: Sequence[Sequence[Any]] = (),
    ) -> None:
        found = None if nearest is None else Nearest(*nearest)
        if found is not None:
            found = found._replace(publishers=tuple(found.publishers))
        self.why = why
        self.reason = reason
        self.nearest = found
        self.parts = tuple((str(name), int(ns), str(label)) for name, ns, label in parts)
        super().__init__(why, reason, found, self.parts)

    def __str__(self) -> str:
        if self.nearest is None or self.why in ("max_sep", "rate"):
            return self.reason
        return f"{self.reason}; the nearest that is possible: {self.nearest}"

    @property
    def explanation(self) -> str:
        """Term by term how the bound comes about that is too long; empty if it is not about one."""
        if not self.parts:
            return ""
        lines = [f"{milliseconds(ns):>15}  {name} ({label})" for name, ns, label in self.parts]
        return "\n".join([*lines, f"{milliseconds(sum(ns for _, ns, _ in self.parts)):>15}  in all"])


class NotKept(GiustoError):
    """A contract could not be written where it survives a restart; nothing was changed."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(path, problem)
        self.path = path
        self.problem = problem

    def __str__(self) -> str:
        return f"contracts cannot be kept in {self.path}: {self.problem}; make room for them and ask again"


class NotRetained(GiustoError, LookupError):
    """Messages that are not, or no longer, in a log of retained topics."""

    def __init__(self, log: str, problem: str) -> None:
        super().__init__(log, problem)
        self.log = log
        self.problem = problem

    def __str__(self) -> str:
        return f"{self.log}: {self.problem}"


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
