"""What clients and the control plane say to each other in control frames: one msgpack map each.

A request carries an `id` that its answer repeats. A notice has no id and no answer. Times are integer
nanoseconds. Unknown fields are ignored, so that a newer client can talk to an older broker.

    client                         broker
      │  hello, Connect   ─────────▶  │
      │  ◀───────── hello, Connected  │
      │  Advertise        ─────────▶  │   to each subscriber: SourceIs, Matched
      │  ◀──────────────  Advertised  │
      │  Subscribe        ─────────▶  │   TopicIs and SourceIs for all that it covers come before the answer
      │  ◀──────────────  Subscribed  │
      │  ◀──────────  Dropped, Matched, VerdictIs, Closing  (whenever they happen)
"""

from __future__ import annotations

from typing import Any, TypeAlias, TypeVar

import msgspec

from giusto.errors import ProtocolError
from giusto.models import Model, ModelVerdict


class Wire(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="op", tag=str.lower):
    """Anything in a control frame; `op` says what it is."""


# --- what a client may ask


class Request(Wire, frozen=True, omit_defaults=True, kw_only=True):
    """A request; the answer has the same id."""

    id: int


class OfferTerms(msgspec.Struct, frozen=True, omit_defaults=True):
    """An offer in numbers. `count` per `period_ns` is the rate; `min_sep_ns` its usual special case."""

    min_sep_ns: int | None = None
    count: int | None = None
    period_ns: int | None = None
    burst: int = 1
    jitter_ns: int = 0
    max_sep_ns: int | None = None
    max_size_bytes: int | None = None
    timeout_ns: int = 0
    queue: int = 1024


class NeedTerms(msgspec.Struct, frozen=True, omit_defaults=True):
    """A need in numbers."""

    max_latency_ns: int | None = None
    max_sep_ns: int | None = None
    count: int | None = None
    period_ns: int | None = None
    deadline_ns: int | None = None
    price: float = 0.0
    penalty: float = 0.0


class ShareTerms(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a topic is allotted; a policy reads the fields that it knows."""

    weight: int | None = None
    rate: int | None = None
    virtual_deadline: int | None = None
    period_ns: int | None = None
    deadline_ns: int | None = None


class Connect(Request, frozen=True, kw_only=True):
    """First request of a connection. Data may come from and go to `udp_port` of the same host.

    An `unnamed` client has a name that nobody chose: nothing is kept for it when its connection ends.
    """

    name: str
    version: str
    udp_port: int | None = None
    unnamed: bool = False


class Advertise(Request, frozen=True, kw_only=True):
    topic: str
    offer: OfferTerms = OfferTerms()


class Unadvertise(Request, frozen=True, kw_only=True):
    flow: int


class Subscribe(Request, frozen=True, kw_only=True):
    pattern: str
    filter: str | None = None
    need: NeedTerms = NeedTerms()


class Unsubscribe(Request, frozen=True, kw_only=True):
    subscription: int


class Allot(Request, frozen=True, kw_only=True):
    """Another share for a topic while it runs."""

    topic: str
    share: ShareTerms


class Publishers(Request, frozen=True, kw_only=True):
    topic: str


class Subscribers(Request, frozen=True, kw_only=True):
    topic: str


class Status(Request, frozen=True, kw_only=True):
    """Counters and delays of all topics and clients."""


class Views(Request, frozen=True, kw_only=True):
    """Who publishes and who receives the topics that a pattern covers."""

    pattern: str = "#"


class Explain(Request, frozen=True, kw_only=True):
    """How the bounds of a topic come about."""

    topic: str


class Learn(Request, frozen=True, kw_only=True):
    """What was measured of the bus; the broker takes it up if every promise holds with it."""

    model: Model


AnyRequest: TypeAlias = (
    Connect
    | Advertise
    | Unadvertise
    | Subscribe
    | Unsubscribe
    | Allot
    | Publishers
    | Subscribers
    | Status
    | Views
    | Explain
    | Learn
)

# --- what the broker answers


class Answer(Wire, frozen=True, omit_defaults=True, kw_only=True):
    """An answer to the request with this id."""

    id: int


class Done(Answer, frozen=True, kw_only=True):
    """Nothing more to say."""


class Failed(Answer, frozen=True, kw_only=True):
    """The request was refused and changed nothing: a class of `giusto.errors` and its arguments."""

    error: str
    args: list[Any]


class Connected(Answer, frozen=True, kw_only=True):
    """`name` is the name that the client has now; `run` names this run of the broker."""

    client: int
    name: str
    run: str
    version: str
    input: str
    output: str
    udp_port: int | None = None


class Advertised(Answer, frozen=True, kw_only=True):
    """Messages of this client on the topic carry `flow`; `credit` of them may be sent at first."""

    flow: int
    topic: int
    credit: int
    subscribers: int = 0


class PartTerms(msgspec.Struct, frozen=True, omit_defaults=True):
    """A term of a bound: what it is, how long, and the label of its formula."""

    name: str
    ns: int
    label: str = ""


class VerdictTerms(msgspec.Struct, frozen=True, omit_defaults=True):
    """What was decided: without `promise_ns` nothing was promised, and `reason` says why.

    `bound_ns` is what the promise comes to with what is admitted now: the worst flow is that of `publisher`
    on `topic`, and `parts` add up to its bound. There are no parts while nobody publishes.
    """

    promise_ns: int | None = None
    bound_ns: int | None = None
    parts: list[PartTerms] = []
    topic_share: float = 0.0
    client_share: float = 0.0
    basis: str = ""
    topic: str = ""
    publisher: str = ""
    reason: str = ""


class Subscribed(Answer, frozen=True, kw_only=True):
    """The subscription stands, under this verdict."""

    subscription: int
    publishers: int = 0
    verdict: VerdictTerms = VerdictTerms()


class Party(msgspec.Struct, frozen=True, omit_defaults=True):
    """A client that publishes on a topic, or whose pattern covers it."""

    client: int
    name: str
    pattern: str
    offer: OfferTerms | None = None
    need: NeedTerms | None = None


class Parties(Answer, frozen=True, kw_only=True):
    parties: list[Party]


class TopicStatus(msgspec.Struct, frozen=True, omit_defaults=True):
    """A topic since the broker started; delays are within the broker, ingress to egress.

    `promise_ns` is the tightest latency that was promised on it, `bound_ns` the largest bound of its flows.
    """

    topic: str
    share: ShareTerms
    publishers: int
    subscribers: int
    counters: dict[str, int]
    delay_p50_ns: int = 0
    delay_p99_ns: int = 0
    delay_max_ns: int = 0
    bound_ns: int | None = None
    promise_ns: int | None = None


class ClientStatus(msgspec.Struct, frozen=True, omit_defaults=True):
    """A client: messages of it that the input stage served, and what waits for it.

    `share` is θ, the least part of the time that its guarded flows are sure of, if it has any.
    """

    client: int
    name: str
    address: str
    served: int
    waiting: int
    dropped: dict[str, int] = {}
    share: float | None = None


class StatusIs(Answer, frozen=True, kw_only=True):
    """`totals` are the counters of all topics, also of those that are gone; `refused` what was no message.

    `models` is what became of the newest models of what was measured; `unkept` counts the messages that
    retained patterns miss, by where they were lost.
    """

    run: str
    version: str
    uptime_ns: int
    now_ns: int
    input: str
    output: str
    topics: list[TopicStatus]
    clients: list[ClientStatus]
    totals: dict[str, int] = {}
    refused: dict[str, int] = {}
    models: list[ModelVerdict] = []
    unkept: dict[str, dict[str, int]] = {}


class ViewsAre(Answer, frozen=True, kw_only=True):
    """W (`shares`, per topic), MatrixIN and MatrixOUT: a row for each client, a column for each topic.

    Only clients that have to do with the topics have a row. So many `more` of both were left out.
    """

    topics: list[str]
    clients: list[str]
    shares: list[ShareTerms]
    matrix_in: list[list[int]]
    matrix_out: list[list[int]]
    topics_more: int = 0
    clients_more: int = 0


class FlowBound(msgspec.Struct, frozen=True, omit_defaults=True):
    """The bound of what one client publishes on one topic; the parts add up to it."""

    publisher: str
    topic: str
    bound_ns: int
    parts: list[PartTerms]
    topic_share: float = 0.0
    client_share: float = 0.0


class PromiseTerms(msgspec.Struct, frozen=True, omit_defaults=True):
    """A latency that was promised; a client that is `away` may come back for it."""

    subscriber: str
    pattern: str
    promise_ns: int
    away: bool = False


class Explained(Answer, frozen=True, kw_only=True):
    """Every bound of a topic and every promise that it is for; none if the topic is not guarded."""

    topic: str
    input: str
    basis: str
    utilisation: float
    flows: list[FlowBound] = []
    promises: list[PromiseTerms] = []
    fanout: int = 0


class Learned(Answer, frozen=True, kw_only=True):
    """What became of a model."""

    verdict: ModelVerdict


AnyAnswer: TypeAlias = (
    Done | Failed | Connected | Advertised | Subscribed | Parties | StatusIs | ViewsAre | Explained | Learned
)

# --- what the broker says unasked


class TopicIs(Wire, frozen=True):
    """Data frames with stream `number` are of the topic `name` from here on."""

    number: int
    name: str


class SourceIs(Wire, frozen=True):
    """Data frames with source `number` are of the client `name` from here on."""

    number: int
    name: str


class Matched(Wire, frozen=True, omit_defaults=True):
    """How many parties the other side of a flow or a subscription has now."""

    count: int
    flow: int | None = None
    subscription: int | None = None


class Dropped(Wire, frozen=True, omit_defaults=True):
    """Messages that were not delivered since the last notice, with the reason that counted them.

    With `flow` they are the client's own (policed, overflow, expired); without, they were meant for it.
    """

    topic: str
    reason: str
    count: int
    flow: int | None = None


class VerdictIs(Wire, frozen=True):
    """The bound of a subscription is another one since publishers came or went; its promise stands."""

    subscription: int
    verdict: VerdictTerms


class Closing(Wire, frozen=True):
    """The broker will close this connection after what waits for it has gone out."""

    reason: str


AnyNotice: TypeAlias = TopicIs | SourceIs | Matched | Dropped | VerdictIs | Closing

# What msgspec raises for bytes that are no message; text that is no UTF-8 is not among its own errors.
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_Kind = TypeVar("_Kind")

_encoder = msgspec.msgpack.Encoder()
_requests: msgspec.msgpack.Decoder[AnyRequest] = msgspec.msgpack.Decoder(AnyRequest)
_replies: msgspec.msgpack.Decoder[AnyAnswer | AnyNotice] = msgspec.msgpack.Decoder(AnyAnswer | AnyNotice)


def encode(message: Wire) -> bytes:
    """The body of a control frame."""
    return _encoder.encode(message)


def decode_request(body: bytes) -> AnyRequest:
    """What a client asks."""
    return _decode(_requests, body)


def decode_reply(body: bytes) -> AnyAnswer | AnyNotice:
    """What a broker answers or says unasked."""
    return _decode(_replies, body)


def _decode(decoder: msgspec.msgpack.Decoder[_Kind], body: bytes) -> _Kind:
    try:
        return decoder.decode(body)
    except UNREADABLE as error:
        raise ProtocolError(f"control frame: {error}", 8) from None
