"""The configuration of one broker, as values: what each is when nobody says otherwise."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from giusto import _core
from giusto.config.settings import BROKER
from giusto.contract import show_ns
from giusto.errors import InvalidInput
from giusto.protocol import ShareTerms
from giusto.trace.options import Options

PORT = 7447
STEWARD = "$steward"
"""How the names of clients begin that are a part of the broker's process."""

SHARES_READ = {
    "twrr": ("weight",),
    "smooth": ("weight",),
    "fair": ("rate", "virtual_deadline"),
    "edf": ("period_ns", "deadline_ns"),
}
"""The fields of a share that each input policy reads."""
SEND_BUFFER_BYTES = 131_072
"""Of a client's socket where the bandwidth to subscribers is limited: what the rest puts there goes first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Realtime:
    """What the data thread asks of the operating system."""

    priority: int = 0
    cpus: tuple[int, ...] = ()
    lock_memory: bool = False
    busy_poll: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one client may have."""

    topics: int = 16_384
    subscriptions: int = 16_384


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """How many records wait for whoever drains them; 0 keeps none."""

    capacity: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Retain:
    """Which topics are kept on disk, where, and for how long; a limit of 0 is none."""

    patterns: tuple[str, ...] = ()
    folder: str | None = None
    max_bytes: int = 1 << 30
    max_age_ns: int = 0
    until: str = "bounds"
    sync_ns: int = 1_000_000_000

    def __post_init__(self) -> None:
        if self.patterns and self.folder is None:
            raise InvalidInput("retain.patterns", ", ".join(self.patterns), "retain.folder beside it")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mtep:
    """What the output stages with prices calculate with; `None` is the default of the stage."""

    weight: float | None = None
    epsilon: float | None = None
    processing_delay_ns: int | None = None
    mean_transmission_ns: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """Which models are taken up, if every promise holds with them, and not only reported."""

    listen: bool = False
    sources: tuple[str, ...] = ()
    quantum: str = "raise"
    envelope: str = "report"
    link: str = "report"

    def trusts(self, source: str) -> bool:
        """Whether models of a client count; a name stands also for those that begin with it and a dash.

        The steward has looked at whose they are that it hands over.
        """
        is_named = any(source == name or source.startswith(f"{name}-") for name in self.sources)
        return not self.sources or is_named or source.startswith(f"{STEWARD}/")


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarantee:
    """What promises rest on, and how long they are kept for who is away. A bandwidth of 0 is unlimited."""

    calibration: str | None = None
    any_machine: bool = False
    store: str | None = None
    tolerance_ns: int = 5_000_000
    reserve_ns: int = 60_000_000_000
    slice_ns: int = 100_000
    stall: str = "exclude"
    link_delay_in_ns: int = 0
    link_delay_out_ns: int = 0
    link_bandwidth_in_bps: int = 0
    link_bandwidth_out_bps: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerConfig:
    """All that a broker is told. `topics` are patterns with shares; the first that covers a topic counts."""

    listen: tuple[str, ...] = (f"tcp://127.0.0.1:{PORT}", f"udp://127.0.0.1:{PORT}")
    input: str = "twrr"
    output: str = "fifo"
    overflow: str = "drop_oldest"
    expiry: str | None = None
    output_capacity: int = 1_024
    output_bytes: int = 64 << 20
    message_capacity: int = 1_048_576
    fragment_bytes: int = 65_536
    mode: str = "load"
    period_ns: int = 0
    budget_ns: int = 0
    penalty_ns: int = 1_000_000
    handshake_ns: int = 5_000_000_000
    connections_max: int = 16_384
    drain_ns: int = 5_000_000_000
    realtime: Realtime = field(default_factory=Realtime)
    limits: Limits = field(default_factory=Limits)
    records: Records = field(default_factory=Records)
    retain: Retain = field(default_factory=Retain)
    trace: Options = field(default_factory=Options)
    mtep: Mtep = field(default_factory=Mtep)
    models: Models = field(default_factory=Models)
    guarantee: Guarantee = field(default_factory=Guarantee)
    topics: tuple[tuple[str, ShareTerms], ...] = ()

    def __post_init__(self) -> None:
        if isinstance(self.listen, str):
            raise InvalidInput("broker.listen", self.listen, f'a tuple of addresses: ("{self.listen}",)')
        for key in ("listen", "input", "output", "overflow", "mode"):
            BROKER[key].read(getattr(self, key), f"broker.{key}")
        if not any(address.startswith(("tcp://", "unix://")) for address in self.listen):
            expected = "a tcp:// or unix:// address too, where clients say who they are"
            raise InvalidInput("broker.listen", ", ".join(self.listen), expected)
        if self.records.capacity and self.trace.folder is not None:
            expected = "0 where trace.folder is set: the files get all records"
            raise InvalidInput("records.capacity", self.records.capacity, expected)
        if self.mode == "time":
            if not self.period_ns and not self.budget_ns:
                raise InvalidInput("broker.mode", "time", "--period and --budget, or the settings, beside it")
            if self.period_ns <= 0:
                raise InvalidInput(
                    "broker.period", show_ns(self.period_ns), 'a period, as mode = "time" says'
                )
            if not 0 < self.budget_ns <= self.period_ns:
                expected = f"a budget within the period of {show_ns(self.period_ns)}"
                raise InvalidInput("broker.budget", show_ns(self.budget_ns), expected)
        elif self.period_ns or self.budget_ns:
            key = "period" if self.period_ns else "budget"
            value = show_ns(self.period_ns or self.budget_ns)
            raise InvalidInput(f"broker.{key}", value, 'mode = "time" beside it')

    def share(self, topic: str) -> ShareTerms:
        """The share of the first pattern that covers the topic."""
        return next(
            (share for pattern, share in self.topics if _core.topic_matches(pattern, topic)), ShareTerms()
        )

    @property
    def tolerance_ns(self) -> int:
        """By how much messages of a flow may come closer than offered.

        The bucket sees when a message is read. The network may delay one message and not the next, and a
        time-driven broker reads what came within a period at once.
        """
        return self.guarantee.tolerance_ns + self.guarantee.link_delay_in_ns + self.period_ns

    @property
    def named_topics(self) -> tuple[str, ...]:
        """The topics that are named without a wildcard: they are there from the start."""
        return tuple(pattern for pattern, _ in self.topics if not is_wild(pattern))

    def engine_options(self) -> dict[str, Any]:
        """What the pipeline is made with."""
        return {
            "input": self.input,
            "output": self.output,
            "overflow": self.overflow,
            "expiry": self.expiry,
            "output_capacity": self.output_capacity,
            "output_bytes": self.output_bytes,
            "message_capacity": self.message_capacity,
            "fragment_bytes": self.fragment_bytes,
            "weight": self.mtep.weight,
            "epsilon": self.mtep.epsilon,
            "processing_delay_ns": self.mtep.processing_delay_ns,
            "mean_transmission_ns": self.mtep.mean_transmission_ns,
            **self.record_options(),
        }

    def record_options(self) -> dict[str, Any]:
        """How many records wait in the pipeline, and of which messages."""
        if self.trace.folder is None:
            return {"record_capacity": self.records.capacity or None}
        return {"record_capacity": self.trace.capacity, "record_sampling": self.trace.sampling}

    def plane_options(self) -> dict[str, Any]:
        """What the data thread is made with, beside the pipeline."""
        return {
            "listen": list(self.listen),
            "period_ns": self.period_ns,
            "budget_ns": self.budget_ns,
            "busy_poll": self.realtime.busy_poll,
            "handshake_ns": self.handshake_ns,
            "connections_max": self.connections_max,
            "penalty_ns": self.penalty_ns,
            "slice_ns": self.guarantee.slice_ns,
            "send_buffer_bytes": SEND_BUFFER_BYTES if self.guarantee.link_bandwidth_out_bps else 0,
        }


def is_wild(pattern: str) -> bool:
    """Whether a pattern covers more than one topic."""
    return any(level in ("+", "#") for level in pattern.split("/"))


def require_read(terms: ShareTerms, policy: str) -> None:
    """Refuse what an input policy does not read: whoever sets it waits for an effect that never comes."""
    reads = SHARES_READ[policy]
    for name in terms.__struct_fields__:
        value = getattr(terms, name)
        if value is not None and name not in reads:
            raise InvalidInput(name, value, f"{' or '.join(reads)}, which is what {policy} reads")


def share_of(terms: ShareTerms) -> _core.Share:
    """The share for the pipeline; raises `InvalidInput` that names the field."""
    return _core.Share(
        weight=terms.weight,
        rate=terms.rate,
        virtual_deadline=terms.virtual_deadline,
        period_ns=terms.period_ns,
        deadline_ns=terms.deadline_ns,
    )
