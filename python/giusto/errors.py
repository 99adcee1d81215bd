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
    └── StaleExtension(message)

The arguments are attributes of the same names. All of them can be pickled.
"""

from __future__ import annotations


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


class StaleExtension(GiustoError):
    """The native extension was not built from the sources beside it: run `make build`."""
