"""What a switch port must know of a flow, and the limiter that holds the flow to it.

All lengths are wire times on the port in question: headers, preamble and gap of every frame included. A
flow is described by its longest message C, the shortest separation of two messages and the jitter J
collected upstream, so that at most σ + Ut of its traffic arrives in any window of length t, with U =
C/min_sep and σ = C + UJ.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from giusto.errors import InvalidInput
from giusto.guarantee import exact
from giusto.guarantee.exact import Number


@dataclass(frozen=True, slots=True, init=False)
class Flow:
    """One publisher's messages of one topic at one port.

    `trusted`: the sender is known to keep its separation; otherwise only its limiter does.
    `link`: number of the input link, which must not be faster than the port; None if that is not known.
    `budget_ns`: the queueing that the flow can stand at this port; None for any.
    """

    wire_ns: Fraction
    min_sep_ns: Fraction
    jitter_ns: Fraction
    shortest_frame_ns: Fraction
    longest_frame_ns: Fraction
    trusted: bool
    link: int | None
    budget_ns: Fraction | None

    def __init__(
        self,
        wire_ns: Number,
        min_sep_ns: Number,
        *,
        jitter_ns: Number = 0,
        shortest_frame_ns: Number | None = None,
        longest_frame_ns: Number | None = None,
        trusted: bool = False,
        link: int | None = None,
        budget_ns: Number | None = None,
    ) -> None:
        """Frames default to the whole message: one frame."""
        wire = exact.positive("wire_ns", wire_ns)
        longest = wire if longest_frame_ns is None else exact.positive("longest_frame_ns", longest_frame_ns)
        shortest = (
            longest if shortest_frame_ns is None else exact.positive("shortest_frame_ns", shortest_frame_ns)
        )
        if longest > wire:
            raise InvalidInput("longest_frame_ns", longest_frame_ns, f"at most the message, {wire}")
        if shortest > longest:
            raise InvalidInput(
                "shortest_frame_ns", shortest_frame_ns, f"at most the longest frame, {longest}"
            )
        values = {
            "wire_ns": wire,
            "min_sep_ns": exact.positive("min_sep_ns", min_sep_ns),
            "jitter_ns": exact.nonnegative("jitter_ns", jitter_ns),
            "shortest_frame_ns": shortest,
            "longest_frame_ns": longest,
            "trusted": exact.flag("trusted", trusted),
            "link": link_number(link),
            "budget_ns": None if budget_ns is None else exact.nonnegative("budget_ns", budget_ns),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def load(self) -> Fraction:
        """U."""
        return self.wire_ns / self.min_sep_ns

    @property
    def burst_ns(self) -> Fraction:
        """σ = C + UJ."""
        return self.wire_ns + self.load * self.jitter_ns

    @property
    def interference_ns(self) -> Fraction:
        """h: what a flow of a higher level adds beyond its load; a trusted one cannot burst at full rate."""
        return self.burst_ns - self.load * self.wire_ns if self.trusted else self.burst_ns


def link_number(link: int | None) -> int | None:
    """An integer or None."""
    if link is not None and (isinstance(link, bool) or not isinstance(link, int)):
        raise InvalidInput("link", link, "the number of a link, or None")
    return link


@dataclass(frozen=True, slots=True)
class Limiter:
    """The token bucket of a flow at the first switch, in what the meter can express."""

    burst_bytes: int
    rate_bytes_per_s: int


def limiter(
    wire_bytes: int,
    min_sep_ns: Number,
    jitter_ns: Number = 0,
    *,
    burst_step_bytes: int = 1,
    rate_step_bytes_per_s: int = 1,
) -> Limiter:
    """R = M/min_sep and B = M(1 + J/min_sep), both rounded up to what the meter can do.

    With B = M a conforming publisher loses messages as soon as it has any jitter.
    """
    size = exact.whole("wire_bytes", wire_bytes, 1)
    separation = exact.positive("min_sep_ns", min_sep_ns)
    burst = size * (1 + exact.nonnegative("jitter_ns", jitter_ns) / separation)
    rate = size * 10**9 / separation
    return Limiter(
        round_up(burst, exact.whole("burst_step_bytes", burst_step_bytes, 1)),
        round_up(rate, exact.whole("rate_step_bytes_per_s", rate_step_bytes_per_s, 1)),
    )


def round_up(value: Fraction, step: int) -> int:
    """The least multiple of `step` that is not below."""
    return ceil(value / step) * step


def limited(
    policer: Limiter,
    wire_bytes: int,
    *,
    bandwidth_bytes_per_s: Number,
    shortest_frame_bytes: int | None = None,
    longest_frame_bytes: int | None = None,
    link: int | None = None,
    budget_ns: Number | None = None,
) -> Flow:
    """What (N1) must expect behind an installed limiter: its rounded burst and rate, not the publisher's."""
    exact.require_kind("policer", policer, Limiter)
    held = exact.whole("policer.burst_bytes", policer.burst_bytes, 1)
    rate = exact.whole("policer.rate_bytes_per_s", policer.rate_bytes_per_s, 1)
    bandwidth = exact.positive("bandwidth_bytes_per_s", bandwidth_bytes_per_s)
    per_byte_ns = 10**9 / bandwidth
    size = exact.whole("wire_bytes", wire_bytes, 1)
    if held < size:
        raise InvalidInput("wire_bytes", wire_bytes, f"at most the limiter's burst, {held}")
    wire = size * per_byte_ns
    load = rate / bandwidth
    longest = frame_bytes("longest_frame_bytes", longest_frame_bytes, size)
    shortest = frame_bytes("shortest_frame_bytes", shortest_frame_bytes, longest)
    return Flow(
        wire,
        wire / load,
        jitter_ns=(held - size) * per_byte_ns / load,
        shortest_frame_ns=shortest * per_byte_ns,
        longest_frame_ns=longest * per_byte_ns,
        link=link,
        budget_ns=budget_ns,
    )


def frame_bytes(field: str, value: int | None, default: int) -> int:
    """A number of bytes that may be left out."""
    return default if value is None else exact.whole(field, value, 1)
