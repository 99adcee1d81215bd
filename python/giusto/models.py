"""What was measured of a bus and goes back to it: the messages on `$giusto/model/…`, as JSON.

The pipeline publishes them, the broker takes them up or says why not, on `$giusto/model/verdict`.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

import msgspec

from giusto.errors import InvalidInput

PREFIX = "$giusto/model/"
VERDICT = PREFIX + "verdict"

Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=2**62)]
Nanoseconds: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**62), le=2**62)]
"""Differences of clocks may be below 0."""
Number: TypeAlias = Annotated[float, msgspec.Meta(ge=-1e30, le=1e30)]
"""Of a model that comes from elsewhere all numbers are such that can be calculated with."""


class LinkModel(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, tag="link", tag_field="kind"):
    """How long a kilobyte takes from `source` to `target`, and the largest delay of any message.

    One of no messages takes back what models of links changed.
    `normal` says whether a normal distribution fits, if there were enough messages to say.
    """

    run: str
    source: str
    target: str
    count: Count
    mean_ns_per_kb: Number | None
    variance: Number | None
    least_ns: Nanoseconds
    largest_ns: Nanoseconds
    normal: bool | None = None

    @property
    def subject(self) -> str:
        """What it is about."""
        return f"link {self.source} -> {self.target}"


class RatePoint(msgspec.Struct, frozen=True):
    """A point of an envelope: so many messages at once beside so many in a second."""

    rho_hz: Number
    sigma: Number


class EnvelopeModel(
    msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, tag="envelope", tag_field="kind"
):
    """How bursty a flow was. `excess_ns` is the jitter that an offer of one message per `min_sep_ns` needs.

    `points` are of the whole flow in ascending order of ρ; `closer` (in JSON `broken`) counts messages that
    came closer than `min_sep_ns`. `kept` says whether burst, jitter and tolerance covered them, if that is
    known. All of it is by when messages were sent.
    """

    run: str
    publisher: str
    topic: str
    count: Count
    since_ns: Nanoseconds
    until_ns: Nanoseconds
    largest_bytes: Count
    points: tuple[RatePoint, ...] = ()
    min_sep_ns: Count | None = None
    excess_ns: Nanoseconds | None = None
    closer: Count = msgspec.field(default=0, name="broken")
    kept: bool | None = None

    @property
    def subject(self) -> str:
        """What it is about."""
        return f"flow of {self.publisher} on {self.topic}"

    @property
    def mean_hz(self) -> float:
        """Messages in a second, over all of it; 0 of a single one."""
        span_ns = self.until_ns - self.since_ns
        return (self.count - 1) * 1e9 / span_ns if span_ns > 0 else 0.0


class QuantumCost(msgspec.Struct, frozen=True, kw_only=True):
    """What messages of up to `size_bytes` to `fan_out` subscriptions took, from one choice to the next."""

    size_bytes: Count
    fan_out: Count
    count: Count
    mean_ns: Number
    p99_ns: Count
    max_ns: Count


class QuantumModel(
    msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, tag="quantum", tag_field="kind"
):
    """What serving took at a node. Without costs it takes back what models of quanta changed."""

    run: str
    node: str
    costs: tuple[QuantumCost, ...]

    @property
    def subject(self) -> str:
        """What it is about."""
        return f"quanta at {self.node}"


Model: TypeAlias = LinkModel | EnvelopeModel | QuantumModel


class ModelVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """What the broker did with a model.

    It was `applied`; `kept` as things are, since they cover it; only `reported`, as configured; or
    `refused`, since a promise would break. The reason says more.
    """

    kind: str
    subject: str
    decision: str
    reason: str
    at_ns: int = 0

    def __str__(self) -> str:
        return f"{self.subject}: {self.decision}, {self.reason}"


def topic_of(model: Model) -> str:
    """Where a model is published."""
    return PREFIX + kind_of(model)


def kind_of(model: Model) -> str:
    """`link`, `envelope` or `quantum`."""
    return str(model.__struct_config__.tag)


def encode(message: Model | ModelVerdict) -> bytes:
    """A message as JSON."""
    return msgspec.json.encode(message)


def decode(payload: bytes) -> Model:
    """The model in a message; raises `InvalidInput`."""
    try:
        found: Model = msgspec.json.decode(payload, type=Model)
        return found
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidInput("model", payload[:80], f"a model as JSON: {error}") from None


def decode_verdict(payload: bytes) -> ModelVerdict:
    """The verdict in a message; raises `InvalidInput`."""
    try:
        return msgspec.json.decode(payload, type=ModelVerdict)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InvalidInput("verdict", payload[:80], f"a verdict as JSON: {error}") from None
