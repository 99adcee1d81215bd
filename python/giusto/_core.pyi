"""Types of the native extension; `make lint` compares them with the build."""

import builtins
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence, Set
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any, ClassVar, Final, Literal, Self, TypeAlias, TypedDict, Unpack, final

from typing_extensions import disjoint_base

SOURCE_DIGEST: str
PROFILE: str
VERSION: str

# --- calibration

def measure(
    task: str,
    *,
    duration_ns: int,
    size_bytes: int | None = None,
    count: int | None = None,
    samples_max: int | None = None,
) -> dict[str, tuple[list[int], list[int]]]: ...

# --- frames

FRAME_LIMIT_BYTES: int
WIRE_VERSION: int

@final
class Hello:
    @property
    def version(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class Data:
    @property
    def priority(self) -> int: ...
    @property
    def flags(self) -> int: ...
    @property
    def stream(self) -> int: ...
    @property
    def source(self) -> int: ...
    @property
    def sequence(self) -> int: ...
    @property
    def t_intended_ns(self) -> int: ...
    @property
    def t_sent_ns(self) -> int: ...
    @property
    def timeout_ns(self) -> int: ...
    @property
    def attributes(self) -> bytes: ...
    @property
    def payload(self) -> bytes: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class Control:
    @property
    def body(self) -> bytes: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class Credit:
    @property
    def stream(self) -> int: ...
    @property
    def amount(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class Probe:
    @property
    def echo(self) -> bool: ...
    @property
    def sequence(self) -> int: ...
    @property
    def t_sent_ns(self) -> int: ...
    @property
    def t_echoed_ns(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class Failure:
    @property
    def code(self) -> int: ...
    @property
    def text(self) -> str: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class Goodbye:
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

_Frame: TypeAlias = Hello | Data | Control | Credit | Probe | Failure | Goodbye

def encode_hello(version: int | None = None) -> bytes: ...
def encode_data(
    payload: bytes | bytearray,
    *,
    stream: int,
    sequence: int,
    t_sent_ns: int,
    t_intended_ns: int | None = None,
    source: int | None = None,
    priority: int | None = None,
    flags: int | None = None,
    timeout_ns: int | None = None,
    attributes: bytes | bytearray | None = None,
    limit_bytes: int | None = None,
) -> bytes: ...
def encode_control(body: bytes | bytearray, *, limit_bytes: int | None = None) -> bytes: ...
def encode_credit(*, stream: int, amount: int) -> bytes: ...
def encode_probe(
    *, sequence: int, t_sent_ns: int, t_echoed_ns: int | None = None, echo: bool = False
) -> bytes: ...
def encode_error(code: int, text: str) -> bytes: ...
def encode_goodbye() -> bytes: ...
def decode(
    buffer: bytes | bytearray, *, limit_bytes: int | None = None
) -> tuple[_Frame, int] | tuple[None, int]: ...

@final
class FrameDecoder:
    def __new__(cls, *, limit_bytes: int | None = None) -> FrameDecoder: ...
    def feed(self, data: bytes | bytearray) -> None: ...
    @property
    def pending_bytes(self) -> int: ...
    def __iter__(self) -> FrameDecoder: ...
    def __next__(self) -> _Frame: ...

# --- policer

@final
class Policer:
    def __new__(
        cls,
        *,
        min_sep_ns: int | None = None,
        count: int | None = None,
        period_ns: int | None = None,
        burst: int | float | Fraction | None = None,
        jitter_ns: int | None = None,
    ) -> Policer: ...
    def conforms(self, now: int) -> bool: ...
    @property
    def next_conforming_ns(self) -> int: ...
    @property
    def installed_burst(self) -> Fraction: ...
    @property
    def accepted(self) -> int: ...
    @property
    def policed(self) -> int: ...

# --- records

RECORD_VERSION: int
OUTCOMES: list[str]

@final
class Columns:
    def __new__(cls, capacity: int) -> Columns: ...
    def set_name(self, column: str, id: int, name: str) -> None: ...
    def push(
        self,
        *,
        run: int,
        node: int,
        hop: int = 0,
        topic: int,
        publisher: int,
        subscriber: int | None = None,
        sequence: int,
        size_bytes: int,
        priority: int = 0,
        t_intended_ns: int | None = None,
        t_sent_ns: int,
        t_ingress_ns: int,
        t_selected_ns: int | None = None,
        t_egress_ns: int | None = None,
        t_received_ns: int | None = None,
        clock_error_ns: int = 0,
        min_sep_ns: int | None = None,
        deadline_ns: int | None = None,
        bound_ns: int | None = None,
        price: float | None = None,
        penalty: float | None = None,
        outcome: str,
        subscription: int | None = None,
    ) -> bool: ...
    def drain(self) -> Batch: ...
    def __len__(self) -> int: ...
    @property
    def capacity(self) -> int: ...
    @property
    def dropped(self) -> int: ...

@final
class Batch:
    def __len__(self) -> int: ...
    @property
    def dropped(self) -> int: ...
    @property
    def skipped(self) -> int: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...

@final
class RecordEncoder:
    def __new__(cls) -> Self: ...
    def group(self, batches: list[Batch]) -> bytes: ...
    def end(self, said: list[tuple[str, str]]) -> bytes: ...
    @property
    def rows(self) -> int: ...
    @property
    def span(self) -> tuple[int, int] | None: ...

# --- input stage

TICKS: Final[int]

@final
class Share:
    """What a topic is allotted; a policy reads the fields that it knows."""

    def __new__(
        cls,
        *,
        weight: int | None = None,
        rate: int | None = None,
        virtual_deadline: int | None = None,
        period_ns: int | None = None,
        deadline_ns: int | None = None,
    ) -> Self: ...
    @property
    def weight(self) -> int: ...
    @property
    def rate(self) -> int: ...
    @property
    def virtual_deadline(self) -> int | None: ...
    @property
    def period_ns(self) -> int: ...
    @property
    def deadline_ns(self) -> int: ...

@final
class ServerRun:
    """What a virtual-time run did."""

    @property
    def completions(self) -> list[tuple[int, int, int]]: ...
    @property
    def overflow(self) -> list[int]: ...
    @property
    def busy_ns(self) -> int: ...

def input_policies() -> list[tuple[str, str]]: ...
def serve(
    policy: str | Callable[[], Any],
    *,
    shares: Sequence[Share],
    service_ns: Sequence[int],
    flows: Sequence[tuple[int, int, int]],
    arrivals: Sequence[tuple[int, int, int, int]],
    changes: Sequence[tuple[int, int, Share]] = ...,
    fragment_bytes: int = 65536,
    service_first: bool = False,
) -> ServerRun: ...

# --- simulated networks

class _BrokerOptions(TypedDict, total=False):
    processing_ns: int | None
    input: str | Callable[[], Any] | None  # the policy of a processor, which the options below belong to
    fragment_bytes: int | None
    search_ns: int | None
    capacity: int | None
    period_ns: int | None  # time-driven, with budget_ns
    budget_ns: int | None

class _TopicOptions(TypedDict, total=False):
    share: Share | None
    service_ns: int | None

class _LinkOptions(TypedDict, total=False):
    delay: Literal["normal", "constant", "bandwidth"] | str | None
    mean_ns_per_kb: float | None  # normal
    deviation_ns_per_kb: float | None  # normal
    delay_ns: int | None  # constant
    bits_per_s: int | None  # bandwidth
    overhead_bytes: int | None  # bandwidth
    least_bytes: int | None  # bandwidth
    estimate_mean_ns_per_kb: float | None
    estimate_deviation_ns_per_kb: float | None
    propagation_ns: int | None
    medium: int | None
    policy: str | Callable[[], Any] | None
    expiry: str | None
    epsilon: float | None
    weight: float | None
    mean_transmission_ns: int | None
    capacity: int | None
    overflow: str | None

class _PublisherOptions(TypedDict, total=False):
    workload: Literal["periodic", "poisson", "uniform", "greedy", "trace"] | str | None
    period_ns: int | None  # periodic, greedy
    phase_ns: int | None  # periodic; drawn if not given
    jitter_ns: int | None  # periodic
    mean_ns: int | None  # poisson
    low_ns: int | None  # uniform
    high_ns: int | None  # uniform
    burst: int | None  # greedy
    count: int | None  # greedy
    at_ns: Sequence[int] | None  # trace
    windows: Sequence[tuple[int, int]] | None
    size_bytes: int | tuple[int, int] | None
    priority: int | tuple[int, int] | None
    timeout_ns: int | None
    delay_ns: int | None
    attributes: Sequence[tuple[str, float, float]] | None
    limit: tuple[int, int, int | Fraction, int] | None  # count, period_ns, burst, jitter_ns

class _SubscriberOptions(TypedDict, total=False):
    filter: str | Filter | None
    deadline_ns: int | None
    price: float | None
    penalty: float | None
    delay_ns: int | None

class _MediumOptions(TypedDict, total=False):
    slot_ns: int | None  # ethernet
    gap_ns: int | None  # ethernet
    attempts: int | None  # ethernet

class _FaultOptions(TypedDict, total=False):
    link: int | None  # link_down, spike, loss
    broker: int | None  # broker_down
    factor: float | None  # spike
    extra_ns: int | None  # spike
    probability: float | None  # loss
    from_ns: int | None
    to_ns: int | None  # for ever if not given

@final
class Network:
    """A network that is put together call by call, and run."""

    def __new__(
        cls,
        *,
        seed: int | None = None,
        name: str = "sim",
        records: str = "deliveries",
        record_capacity: int | None = None,
    ) -> Network: ...
    def broker(self, name: str, **options: Unpack[_BrokerOptions]) -> int: ...
    def topic(self, name: str, **options: Unpack[_TopicOptions]) -> int: ...
    def medium(self, name: str, kind: str, **options: Unpack[_MediumOptions]) -> int: ...
    def link(self, source: int, target: int, **options: Unpack[_LinkOptions]) -> int: ...
    def publisher(self, broker: int, topic: int, name: str, **options: Unpack[_PublisherOptions]) -> int: ...
    def subscriber(
        self, broker: int, name: str, pattern: str, **options: Unpack[_SubscriberOptions]
    ) -> int: ...
    def fault(self, kind: str, **options: Unpack[_FaultOptions]) -> int: ...
    def check(self, until_ns: int) -> None: ...
    def run(self, until_ns: int, *, drain: bool = True) -> NetworkRun: ...

@final
class NetworkRun:
    """What happened in a simulated network."""

    @property
    def counters(self) -> dict[str, int]: ...
    def batches(self) -> list[Batch]: ...
    @property
    def totals(self) -> dict[str, list[int]]: ...
    @property
    def links(self) -> dict[str, list[int]]: ...
    @property
    def brokers(self) -> dict[str, list[int]]: ...
    @property
    def media(self) -> dict[str, list[int]]: ...
    @property
    def total_earning(self) -> float: ...
    @property
    def ideal_earning(self) -> float: ...
    @property
    def success_rate(self) -> float | None: ...
    @property
    def ended_ns(self) -> int: ...

# --- engine

@final
class Need:
    """Deadline, price, penalty and path of a subscription, and the bound that was proved for it."""

    def __new__(
        cls,
        *,
        deadline_ns: int | None = None,
        price: float | None = None,
        penalty: float | None = None,
        nodenum: int | None = None,
        mean_ns_per_kb: float | None = None,
        variance_ns2_per_kb2: float | None = None,
        subscriber_delay_ns: int | None = None,
        bound_ns: int | None = None,
    ) -> Self: ...

@final
class Delivery:
    """A message that a link carries to one client."""

    @property
    def topic(self) -> int: ...
    @property
    def source(self) -> int: ...
    @property
    def subscriptions(self) -> list[int]: ...
    @property
    def sequence(self) -> int: ...
    @property
    def priority(self) -> int: ...
    @property
    def sent_ns(self) -> int: ...
    @property
    def intended_ns(self) -> int: ...
    @property
    def timeout_ns(self) -> int: ...
    @property
    def attributes(self) -> bytes: ...
    @property
    def payload(self) -> bytes: ...

class _Views(TypedDict):
    client_numbers: list[int]
    topic_numbers: list[int]
    clients: list[str]
    topics: list[str]
    shares: list[Share]
    matrix_in: list[list[int]]
    matrix_out: list[list[int]]

@final
class Engine:
    """The forwarding state of one broker: the whole pipeline, driven by its caller's clock."""

    def __new__(
        cls,
        *,
        input: str = "twrr",
        output: str = "fifo",
        fragment_bytes: int | None = None,
        message_capacity: int | None = None,
        output_capacity: int | None = None,
        output_bytes: int | None = None,
        overflow: str = "drop_oldest",
        expiry: str | None = None,
        processing_delay_ns: int | None = None,
        mean_transmission_ns: int | None = None,
        epsilon: float | None = None,
        weight: float | None = None,
        record_capacity: int | None = None,
        record_sampling: int | None = None,
        run: str = "run",
        node: str = "node",
    ) -> Self: ...
    def connect(self, name: str) -> int: ...
    def disconnect(self, client: int) -> None: ...
    def declare(self, name: str, share: Share | None = None) -> int: ...
    def forget(self, topic: int) -> None: ...
    def allot(self, topic: int, share: Share) -> None: ...
    def guard(self, topic: int, guarded: bool) -> bool: ...
    def advertise(
        self,
        client: int,
        topic: int,
        *,
        capacity: int | None = None,
        max_size_bytes: int | None = None,
        min_sep_ns: int | None = None,
        burst: int | None = None,
        jitter_ns: int | None = None,
    ) -> int: ...
    def unadvertise(self, flow: int) -> None: ...
    def subscribe(
        self, client: int, pattern: str, *, filter: Filter | str | None = None, need: Need | None = None
    ) -> int: ...
    def unsubscribe(self, subscription: int) -> None: ...
    def ingest(self, now: int, client: int, frame: bytes) -> None: ...
    def publish(
        self,
        now: int,
        flow: int,
        payload: bytes,
        *,
        priority: int | None = None,
        sequence: int | None = None,
        sent_ns: int | None = None,
        intended_ns: int | None = None,
        timeout_ns: int | None = None,
        attributes: Mapping[str, _Value] | bytes | None = None,
    ) -> None: ...
    def step(self, now: int) -> tuple[str, int] | None: ...
    def step_guarded(self, now: int) -> tuple[str, int] | None: ...
    def take(self, now: int, client: int) -> Delivery | None: ...
    def take_overflowed(self) -> list[int]: ...
    @property
    def waiting(self) -> int: ...
    @property
    def waiting_guarded(self) -> int: ...
    @property
    def stored(self) -> int: ...
    def waiting_for(self, client: int) -> int: ...
    def views(self) -> _Views: ...
    def counters(self, topic: int | None = None) -> dict[str, int]: ...
    def drain_records(self) -> Batch | None: ...

# --- a live broker's data plane

_Event: TypeAlias = (
    tuple[Literal["opened"], int, str]
    | tuple[Literal["control"], int, bytes]
    | tuple[Literal["closed"], int, str]
)

@disjoint_base
class Door:
    """The calls that every data plane serves; each is done as a whole or refused as a whole."""

    def events(self, timeout_ns: int | None) -> list[_Event]: ...
    def wake(self) -> None: ...
    def connect(self, conn: int, name: str, udp: tuple[str, int] | None = None) -> int: ...
    def declare(self, name: str, share: Share | None = None) -> int: ...
    def forget(self, topics: Sequence[int]) -> list[int]: ...
    def allot(self, topic: int, share: Share) -> None: ...
    def guard(self, topics: Sequence[int], guarded: bool) -> list[int]: ...
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
        self, conn: int, pattern: str, *, filter: Filter | str | None = None, need: Need | None = None
    ) -> int: ...
    def unsubscribe(self, conn: int, subscription: int) -> None: ...
    def send(self, conn: int, body: bytes) -> None: ...
    def close(self, conn: int, code: int, text: str) -> None: ...
    def unread(self) -> list[int]: ...
    def losses(self) -> list[tuple[int, int, int | None, str, int]]: ...
    def status(self) -> dict[str, Any]: ...
    def views(self) -> _Views: ...
    def drain_records(self) -> Batch | None: ...

@final
class Plane(Door):
    """The handle on the data thread of a broker."""

    def __new__(
        cls,
        *,
        listen: Sequence[str] = (),
        period_ns: int = 0,
        budget_ns: int = 0,
        busy_poll: bool = False,
        read_bytes: int = 65_536,
        turn_steps: int = 128,
        penalty_ns: int = 1_000_000,
        slice_ns: int = 100_000,
        guarded_steps: int = 8,
        send_buffer_bytes: int = 0,
        handshake_ns: int = 5_000_000_000,
        connections_max: int = 16_384,
        control_capacity: int = 4_096,
        frame_limit_bytes: int = 16_777_216,
        input: str = "twrr",
        output: str = "fifo",
        fragment_bytes: int | None = None,
        message_capacity: int | None = None,
        output_capacity: int | None = None,
        output_bytes: int | None = None,
        overflow: str = "drop_oldest",
        expiry: str | None = None,
        processing_delay_ns: int | None = None,
        mean_transmission_ns: int | None = None,
        epsilon: float | None = None,
        weight: float | None = None,
        record_capacity: int | None = None,
        record_sampling: int | None = None,
        run: str = "run",
        node: str = "node",
    ) -> Self: ...
    def start(self) -> None: ...
    @property
    def addresses(self) -> list[str]: ...
    @property
    def thread_id(self) -> int: ...
    def lock_memory(self) -> None: ...
    def stop(self, drain_ns: int) -> None: ...

@final
class MemoryPlane(Door):
    """The same without sockets and thread, driven by the caller's clock."""

    def __new__(
        cls,
        *,
        handshake_ns: int = 5_000_000_000,
        connections_max: int = 16_384,
        control_capacity: int = 4_096,
        frame_limit_bytes: int = 16_777_216,
        input: str = "twrr",
        output: str = "fifo",
        fragment_bytes: int | None = None,
        message_capacity: int | None = None,
        output_capacity: int | None = None,
        output_bytes: int | None = None,
        overflow: str = "drop_oldest",
        expiry: str | None = None,
        processing_delay_ns: int | None = None,
        mean_transmission_ns: int | None = None,
        epsilon: float | None = None,
        weight: float | None = None,
        record_capacity: int | None = None,
        record_sampling: int | None = None,
        run: str = "run",
        node: str = "node",
    ) -> Self: ...
    def open(self, address: str = "memory") -> int: ...
    def feed(self, now: int, conn: int, data: bytes) -> None: ...
    def step(self, now: int) -> bool: ...
    def drain(self, now: int, conn: int) -> bytes: ...
    def hang_up(self, now: int, conn: int) -> None: ...

# --- output

def output_policies() -> list[str]: ...

@final
class Outgoing:
    def __new__(
        cls,
        token: int,
        *,
        published_ns: int,
        size_bytes: int | None = None,
        priority: int | None = None,
        timeout_ns: int | None = None,
    ) -> Outgoing: ...
    @property
    def token(self) -> int: ...
    @property
    def size_bytes(self) -> int: ...
    @property
    def priority(self) -> int: ...
    @property
    def published_ns(self) -> int: ...
    @property
    def timeout_ns(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    __hash__: ClassVar[None]  # type: ignore[assignment]

@final
class Terms:
    def __new__(
        cls,
        *,
        deadline_ns: int,
        price: float = 0.0,
        penalty: float = 0.0,
        nodenum: int | None = None,
        mean_ns_per_kb: float = 0.0,
        variance_ns2_per_kb2: float = 0.0,
        subscriber_delay_ns: int | None = None,
    ) -> Terms: ...
    @property
    def deadline_ns(self) -> int: ...
    @property
    def price(self) -> float: ...
    @property
    def penalty(self) -> float: ...
    @property
    def nodenum(self) -> int: ...
    @property
    def mean_ns_per_kb(self) -> float: ...
    @property
    def variance_ns2_per_kb2(self) -> float: ...
    @property
    def subscriber_delay_ns(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    __hash__: ClassVar[None]  # type: ignore[assignment]

@final
class Metrics:
    @property
    def expected_earning(self) -> float: ...
    @property
    def expected_penalty(self) -> float: ...
    @property
    def postponed_earning(self) -> float: ...
    @property
    def postponed_penalty(self) -> float: ...
    @property
    def postponed_cost(self) -> float: ...
    @property
    def priority(self) -> float: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    __hash__: ClassVar[None]  # type: ignore[assignment]

@final
class OutputQueue:
    def __new__(
        cls,
        policy: str | Callable[[], Any],
        *,
        capacity: int | None = None,
        limit_bytes: int | None = None,
        overflow: str = "drop_oldest",
        expiry: str | None = None,
        weight: float | None = None,
        epsilon: float | None = None,
        processing_delay_ns: int | None = None,
        mean_transmission_ns: int | None = None,
    ) -> OutputQueue: ...
    def push(
        self, now_ns: int, message: Outgoing, terms: Sequence[Terms] = ...
    ) -> tuple[str, list[tuple[int, str]]]: ...
    def pop(self, now_ns: int) -> tuple[Outgoing | None, list[tuple[int, str]]]: ...
    def __len__(self) -> int: ...
    @property
    def policy(self) -> str: ...
    @property
    def capacity(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    @property
    def counts(self) -> dict[str, int]: ...
    @property
    def work(self) -> tuple[int, int]: ...
    @property
    def mean_transmission_ns(self) -> int: ...
    @mean_transmission_ns.setter
    def mean_transmission_ns(self, value: int, /) -> None: ...
    def metrics(self, now_ns: int, token: int) -> Metrics | None: ...

# --- matching

@final
class Float:
    """A number in single precision; a Python float is a Double."""

    def __new__(cls, value: float, /) -> Float: ...
    def __float__(self) -> float: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

_Value: TypeAlias = int | float | Float | str | datetime | Set[int] | Set[str]
_Decoded: TypeAlias = int | float | Float | str | datetime | frozenset[int] | frozenset[str]

@final
class Filter:
    """A content filter; see docs/reference/filters.md."""

    def __new__(cls, text: str, /) -> Filter: ...
    @property
    def canonical(self) -> str: ...
    @property
    def comparisons(self) -> int: ...
    def matches(self, attributes: Mapping[str, _Value] | bytes, /) -> bool: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[type[Filter], tuple[str]]: ...

@final
class Matcher:
    """Which subscriptions receive an event; topics by name, subscriptions by number."""

    def __new__(cls) -> Matcher: ...
    def add_topic(self, name: str, /) -> None: ...
    def remove_topic(self, name: str, /) -> None: ...
    def subscribe(self, subscription: int, pattern: str, filter: Filter | str | None = None) -> None: ...
    def unsubscribe(self, subscription: int, /) -> None: ...
    def matching(self, topic: str, attributes: Mapping[str, _Value] | bytes | None = None) -> list[int]: ...
    def would_match(
        self, subscription: int, topic: str, attributes: Mapping[str, _Value] | bytes | None = None
    ) -> bool: ...
    def __len__(self) -> int: ...

def encode_attributes(attributes: Mapping[str, _Value], /) -> bytes: ...
def decode_attributes(block: bytes, /) -> dict[str, _Decoded]: ...
def topic_matches(pattern: str, name: str) -> bool: ...

# --- client

@final
class Connection:
    def __new__(
        cls,
        *,
        attend: Callable[[], object] | None = None,
        idle: Callable[[int | None], bool] | None = None,
        in_memory: bool = False,
        in_loop: bool = False,
        record_capacity: int = 0,
        record_sampling: int = 1,
    ) -> Connection: ...
    def identify(self, run: str, name: str) -> None: ...
    def drain_records(self) -> Batch | None: ...
    def open(self, address: str, timeout_ns: int) -> None: ...
    def open_memory(self) -> None: ...
    @property
    def udp_port(self) -> int | None: ...
    def connect_udp(self, port: int) -> None: ...
    def send(self, body: bytes | bytearray) -> None: ...
    @property
    def has_room(self) -> bool: ...
    def wait_for_room(self) -> bool: ...
    def flush(self, timeout_ns: int) -> bool: ...
    def wait(self, seen: int, timeout_ns: int | None = None) -> bool: ...
    @property
    def notified(self) -> int: ...
    def notify(self) -> None: ...
    def pump(self) -> bool: ...
    @property
    def wants_attention(self) -> bool: ...
    def take_control(self) -> list[bytes]: ...
    def take_notes(self) -> list[tuple[int, str, str, int, int]]: ...
    def take_loss(self) -> tuple[str, int, int] | None: ...
    def check_open(self) -> None: ...
    @property
    def is_connected(self) -> bool: ...
    @property
    def is_broker(self) -> bool: ...
    def take_announced(self) -> list[int]: ...
    def wait_announced(self, timeout_ns: int | None = None) -> list[int]: ...
    def give_up(self, reason: str) -> int: ...
    def end(self, reason: str, timeout_ns: int, *, is_wanted: bool = False) -> None: ...
    def disown(self, reason: str) -> None: ...
    def descriptors(self) -> list[int]: ...
    @property
    def now(self) -> int: ...
    def set_now(self, now: int) -> None: ...
    def feed(self, data: bytes | bytearray) -> None: ...
    def drain(self) -> bytes: ...
    @property
    def dropped(self) -> int: ...
    @property
    def unroutable(self) -> int: ...

@final
class Message:
    @property
    def topic(self) -> str: ...
    @property
    def payload(self) -> bytes: ...
    @property
    def value(self) -> Any: ...
    @property
    def source(self) -> str: ...
    @property
    def sent_ns(self) -> int: ...
    @property
    def intended_ns(self) -> int: ...
    @property
    def received_ns(self) -> int: ...
    @property
    def latency_ns(self) -> int: ...
    @property
    def priority(self) -> int: ...
    @property
    def sequence(self) -> int: ...
    @property
    def attributes(self) -> dict[str, Any]: ...
    @property
    def attribute_block(self) -> bytes: ...

@disjoint_base
class Inbox:
    def __new__(
        cls,
        connection: Connection,
        pattern: str,
        filter: str | Filter | None = None,
        *,
        messages: int = 65536,
        bytes: int = 67108864,
        overflow: str = "drop_oldest",
        late_ns: int = 0,
        sep_ns: int = 0,
        decode: Callable[[builtins.bytes], object] | None = None,
    ) -> Self: ...
    @property
    def key(self) -> int: ...
    def available(self) -> int: ...
    def purge(self) -> int: ...
    def _take(self) -> Message | None: ...
    def _take_many(self, most: int) -> list[Message]: ...
    def _drain_into(
        self, callback: Callable[[Message], object], failed: Callable[[Exception], object], most: int
    ) -> int: ...
    def _announce(self) -> None: ...
    def _set_bound(self, bound_ns: int) -> None: ...
    def _tell_records(
        self,
        number: int,
        deadline_ns: int | None,
        bound_ns: int | None,
        worth: tuple[float, float] | None,
    ) -> None: ...
    def _figures(
        self, *, recent: bool = False
    ) -> list[tuple[str, int, int, int, int, int, int, int, int, int, int, int]]: ...
    def _close(self) -> None: ...

class BlockingInbox(Inbox):
    def receive(self, timeout: timedelta | float | str | None = None) -> Message: ...
    def receive_many(
        self, most: int = 1024, timeout: timedelta | float | str | None = None
    ) -> list[Message]: ...
    def _wait(self, seen: int, timeout_ns: int | None = None) -> bool: ...
    def __iter__(self) -> Self: ...
    def __next__(self) -> Message: ...

@disjoint_base
class Publisher:
    def __new__(
        cls,
        connection: Connection,
        *,
        timeout_ns: int = 0,
        max_size_bytes: int | None = None,
        encode: Callable[[Any], bytes] | None = None,
    ) -> Self: ...
    def _bind(self, number: int, credit: int) -> None: ...
    @property
    def flow(self) -> int | None: ...
    @property
    def credit(self) -> int: ...
    @property
    def published(self) -> int: ...
    def try_publish(
        self,
        payload: Any,
        /,
        *,
        priority: int = 0,
        attributes: Mapping[str, Any] | None = None,
        intended_ns: int | None = None,
    ) -> bool: ...
    def try_publish_many(
        self,
        payloads: Sequence[Any],
        start: int = 0,
        *,
        priority: int = 0,
        attributes: Mapping[str, Any] | None = None,
    ) -> int: ...
    def _close(self) -> None: ...

class BlockingPublisher(Publisher):
    def publish(
        self,
        payload: Any,
        /,
        *,
        priority: int = 0,
        attributes: Mapping[str, Any] | None = None,
        timeout: timedelta | float | str | None = None,
        intended_ns: int | None = None,
    ) -> None: ...
    def publish_many(
        self,
        payloads: Iterable[Any],
        /,
        *,
        priority: int = 0,
        attributes: Mapping[str, Any] | None = None,
        timeout: timedelta | float | str | None = None,
    ) -> None: ...

class AsyncPublisher(Publisher):
    def publish(
        self,
        payload: Any,
        /,
        *,
        priority: int = 0,
        attributes: Mapping[str, Any] | None = None,
        timeout: timedelta | float | str | None = None,
        intended_ns: int | None = None,
    ) -> Awaitable[None]: ...
