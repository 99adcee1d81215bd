"""What the book asks a policy for."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from giusto.guarantee.blocking import Delay
from giusto.guarantee.record import Record
from giusto.guarantee.shelf import Breach
from giusto.guarantee.stream import Stream
from giusto.protocol import ShareTerms


class Response(NamedTuple):
    """From the arrival of a message at its socket to the end of its flush, at worst.

    The worst one comes `arrival_ns` after the start of a backlog; `work_ns` of service, its own included, is
    done from there to its end.
    """

    total_ns: int
    work_ns: int
    arrival_ns: int
    label: str


class Worst(NamedTuple):
    """The largest response of all flows of a topic, with their links, and whose it is."""

    total_ns: int
    client: str


class Stage(Protocol):
    """The guarded topics under one policy.

    `is_common`: what a slowly read connection waits for is counted for all, since its messages are ordered
    together with those of the others by when they were read. `has_given_shares`: how a topic is served does
    not depend on what was promised on it.
    """

    is_common: bool
    has_given_shares: bool

    def check(self, record: Record) -> None:
        """`InvalidInput` if the share of the topic means nothing."""

    def swap(self, before: Record, after: Record) -> None:
        """A topic is another one now. What is not guarded does not count; `before` is what came last time."""

    @property
    def effort(self) -> int:
        """What a look at all promises takes, in steps of about ten microseconds."""

    def overloaded(self, delay: Delay) -> Breach | None:
        """A promise to a lane that brings more than it is sure to be served."""

    def late(self, delay: Delay) -> Breach | None:
        """A promise that does not hold."""

    def worst(self, record: Record, delay: Delay) -> Worst | None:
        """The largest of a topic that somebody publishes; None if one of its flows has none."""

    def response(self, record: Record, stream: Stream, delay: Delay) -> Response | None:
        """Of one flow; None if it brings more than it is sure to be served."""

    def wanted(self, record: Record) -> ShareTerms | None:
        """The share that follows from the promises; None if the policy has fixed shares."""

    def topic_share(self, record: Record) -> float:
        """r_k."""

    def client_share(self, record: Record, stream: Stream) -> float:
        """The part of the time that the flow is sure to get."""
