"""What a network is made of: brokers, the links between them, and who is connected to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from giusto.contract import Offer
from giusto.contract.duration import Duration, duration_ns
from giusto.errors import InvalidInput
from giusto.sim.delay import Constant, Delay, Normal
from giusto.sim.keeping import Nanoseconds, OptionalNanoseconds, settle, settle_list, spelled
from giusto.sim.policy import Input, Output
from giusto.sim.workload import Workload

MESSAGES_MAX = 2**31
"""The most messages that may wait for a link."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Processor:
    """Serves one quantum at a time, chosen by an input policy; a message takes one per started fragment.

    Finding a message takes `search`. With `period` and `budget` it is time-driven: a polling server.
    """

    policy: Input = "twrr"
    fragment_bytes: int = 65_536
    search: Duration = 0
    capacity: int = 65_535
    period: Duration | None = None
    budget: Duration | None = None

    search_ns = Nanoseconds()
    period_ns = OptionalNanoseconds()
    budget_ns = OptionalNanoseconds()

    def __post_init__(self) -> None:
        settle(self, "search")
        settle(self, "period", "budget", least_ns=1)
        if (self.period is None) != (self.budget is None):
            given, other = ("period", "budget") if self.budget is None else ("budget", "period")
            raise InvalidInput(given, getattr(self, given), f"a {other} beside it, or neither")


@dataclass(frozen=True, slots=True, kw_only=True)
class Broker:
    """Forwards messages: each takes `processing`, all in parallel, then its turn on the processor.

    In a layered overlay every broker has a layer, and links lead to higher ones.
    """

    name: str
    processing: Duration = 0
    processor: Processor | None = None
    layer: int | None = None

    processing_ns = Nanoseconds()

    def __post_init__(self) -> None:
        settle(self, "processing")


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """Carries messages from one broker to another, one at a time, chosen by an output policy.

    `expiry` says when a waiting message is dropped (`none`, `dead`, `eps`), if not as the policy does;
    `epsilon` and `weight` are those of `mtep`. `mean_transmission` is what `mtep` expects the next
    transmission to take, if not what the mean message takes. `estimate` is the delay that policies and routes
    reckon with, if not the true one. A link without a name is `source->target`.
    """

    source: str
    target: str
    name: str | None = None
    delay: Delay = field(default_factory=Constant)
    estimate: Normal | None = None
    propagation: Duration = 0
    medium: str | None = None
    policy: Output = "fifo"
    expiry: str | None = None
    epsilon: float = 0.04
    weight: float = 0.4
    mean_transmission: Duration | None = None
    capacity: int = MESSAGES_MAX
    overflow: str = "drop_oldest"

    propagation_ns = Nanoseconds()
    mean_transmission_ns = OptionalNanoseconds()

    def __post_init__(self) -> None:
        settle(self, "propagation", "mean_transmission")

    @property
    def label(self) -> str:
        """Its name, given or not."""
        return f"{self.source}->{self.target}" if self.name is None else self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribute:
    """A number that each message says about itself, drawn uniformly from `low` to below `high`."""

    name: str
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Publisher:
    """Sends messages on one topic to its broker, over a `delay`.

    Size and priority are fixed, or drawn from a least to a greatest one. It is there during its `windows`,
    or always. What breaks its offer (`min_sep` or `rate`, `burst`, `jitter`) is policed.
    """

    name: str
    broker: str
    topic: str
    workload: Workload
    size_bytes: int | tuple[int, int] = 0
    priority: int | tuple[int, int] = 0
    timeout: Duration | None = None
    delay: Duration = 0
    attributes: Sequence[Attribute] = ()
    windows: Sequence[tuple[Duration, Duration]] = ()
    offer: Offer | None = None

    timeout_ns = OptionalNanoseconds()
    delay_ns = Nanoseconds()

    def __post_init__(self) -> None:
        settle(self, "timeout", least_ns=1)
        settle(self, "delay")
        settle_list(self, "attributes", "windows")
        windows = tuple(_window(n, window) for n, window in enumerate(self.windows))
        object.__setattr__(self, "windows", windows)

    @property
    def windows_ns(self) -> list[tuple[int, int]]:
        """When it is there."""
        return [(duration_ns(start), duration_ns(end)) for start, end in self.windows]


def _window(n: int, window: tuple[Duration, Duration]) -> tuple[str, str]:
    try:
        start, end = window if isinstance(window, tuple | list) else ()
    except (TypeError, ValueError):
        raise InvalidInput(f"windows[{n}]", window, 'a start and an end, such as ("0s", "10s")') from None
    return spelled(duration_ns(start, f"windows[{n}][0]")), spelled(duration_ns(end, f"windows[{n}][1]"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscriber:
    """Receives from its broker, over a `delay`, what a topic pattern and a filter match.

    A delivery up to `deadline` after it was sent earns `price`; a later or lost one costs `penalty`.
    """

    name: str
    broker: str
    pattern: str
    filter: str | None = None
    deadline: Duration | None = None
    price: float = 0.0
    penalty: float = 0.0
    delay: Duration = 0

    deadline_ns = OptionalNanoseconds()
    delay_ns = Nanoseconds()

    def __post_init__(self) -> None:
        settle(self, "deadline", least_ns=1)
        settle(self, "delay")
