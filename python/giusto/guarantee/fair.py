"""The `fair` policy: shares in virtual time, with a deadline that may be shorter than the share alone gives.

The tags repair those of S2, section IV-B: the messages of topic i get S =
max(v, S_prev + 1/r_i) and F = S + d_i, the least F is served, v becomes the F of the message taken, and v
and all tags are forgotten when the server goes idle. With d_i = 1/r_i this is self-clocked fair queueing.

(V1). Let a chain of tags of topic i start at time a with S = v(a). Its j-th message has F = v(a) +
(j-1)/r_i + d_i. Whatever is served after a has F >= v(a), and the tags of topic k lie at least 1/r_k apart,
so that at most 1 + ⌊r_k((j-1)/r_i + d_i)⌋ messages of k come before it, the one in service at a included
(it cannot be one of i: the chain would have started earlier, because d_i <= 1/r_i). The other topics may
flood. A short deadline takes away the 1/μ_i of the share, never the one message of each other topic.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor, lcm

from giusto.errors import InvalidInput, Overload
from giusto.guarantee import envelope, exact
from giusto.guarantee.exact import Number
from giusto.guarantee.tags import Arrival, Served, order

__all__ = [
    "Arrival",
    "Served",
    "completion",
    "guaranteed_rate",
    "linear_response",
    "order",
    "priority_response",
    "response",
]

Deadlines = Sequence[Number | None] | None


@dataclass(frozen=True, slots=True)
class Place:
    """One topic among the others, checked: virtual rates, own virtual deadline, real time per message."""

    rates: list[Fraction]
    deadline: Fraction
    topic: int
    service: Fraction
    others: tuple[tuple[Fraction, int], ...]

    @classmethod
    def checked(cls, rates: Sequence[Number], deadlines: Deadlines, topic: int, service: Number) -> Place:
        """Deadlines that are None are 1/r; longer ones would change the shares and are refused."""
        given = exact.positives("rates", rates)
        topic = exact.index("topic", topic, len(given))
        deadline = virtual_deadlines(given, deadlines)[topic]
        # Topics of equal rate have equal terms in (V1).
        others = Counter(given[:topic] + given[topic + 1 :])
        return cls(given, deadline, topic, exact.positive("service", service), tuple(others.items()))

    @property
    def own(self) -> Fraction:
        """r_i."""
        return self.rates[self.topic]

    @property
    def slope(self) -> Fraction:
        """1/μ_i: real time between two messages of the topic when everybody floods."""
        return self.service * sum(self.rates) / self.own

    @property
    def span(self) -> int:
        """After this many messages of the topic all floors of (V1) have the same fractions again."""
        return lcm(*((rate / self.own).denominator for rate in self.rates))

    def ahead(self, extent: Fraction) -> int:
        """The most foreign messages whose F lies within `extent` of virtual time."""
        return sum(count * (1 + floor(rate * extent)) for rate, count in self.others)

    def completion(self, j: int) -> Fraction:
        """(V1)."""
        return self.service * (j + self.ahead((j - 1) / self.own + self.deadline))

    def require_rate(self, rate: Fraction) -> None:
        """ρ <= μ_i."""
        if rate > 1 / self.slope:
            raise Overload(f"rate {rate} is above the guaranteed rate {1 / self.slope}: no bound exists")


def virtual_deadlines(rates: Sequence[Fraction], deadlines: Deadlines) -> list[Fraction]:
    """d_i of every topic."""
    given: Sequence[Number | None] = [None] * len(rates) if deadlines is None else deadlines
    exact.require_length("deadlines", given, len(rates))
    result = []
    for i, (rate, value) in enumerate(zip(rates, given, strict=True)):
        deadline = 1 / rate if value is None else exact.nonnegative(f"deadlines[{i}]", value)
        if deadline > 1 / rate:
            raise InvalidInput(f"deadlines[{i}]", value, f"at most 1/rate, {1 / rate}")
        result.append(deadline)
    return result


def guaranteed_rate(rates: Sequence[Number], topic: int, service: Number) -> Fraction:
    """μ_i = μ r_i / r, in messages per unit of real time."""
    return 1 / Place.checked(rates, None, topic, service).slope


def completion(
    rates: Sequence[Number], deadlines: Deadlines, topic: int, j: int, service: Number
) -> Fraction:
    """(V1): real time from the arrival that starts a chain of tags to the end of its j-th message."""
    return Place.checked(rates, deadlines, topic, service).completion(exact.whole("j", j, 1))


def response(
    rates: Sequence[Number], deadlines: Deadlines, topic: int, burst: Number, rate: Number, service: Number
) -> Fraction:
    """(V2), exact form: the worst response of the topic's (burst, rate) flow; `Overload` if rate > μ_i.

    `rates` and `deadlines` are virtual, `rate` is in messages per unit of `service`, the real time per
    message. Rate 0 is a single burst. Where the search for the worst message would not end (see
    `envelope.worst_below_line`) the result is slightly above the exact value.
    """
    place = Place.checked(rates, deadlines, topic, service)
    flow_burst = exact.at_least_one("burst", burst)
    flow_rate = exact.nonnegative("rate", rate)
    place.require_rate(flow_rate)
    return envelope.worst_below_line(
        place.completion, offset(place), place.slope, flow_burst, flow_rate, place.span
    )


def offset(place: Place) -> Fraction:
    """The straight line above (V1) at j = 1: (N + d_i(r - r_i))/μ."""
    return place.service * (len(place.rates) + place.deadline * (sum(place.rates) - place.own))


def linear_response(
    rates: Sequence[Number], deadlines: Deadlines, topic: int, burst: Number, service: Number
) -> Fraction:
    """The right side of (V2): (N + d_i(r - r_i))/μ + (σ-1)/μ_i for every rate up to μ_i."""
    place = Place.checked(rates, deadlines, topic, service)
    return offset(place) + (exact.at_least_one("burst", burst) - 1) * place.slope


def priority_response(
    rates: Sequence[Number], deadlines: Deadlines, topic: int, burst: Number, rate: Number, service: Number
) -> Fraction:
    """The worst response of the topic's highest message priority, which has its own (burst, rate).

    Inside a topic the tags belong to slots, and the most urgent message takes the next slot. Let a message
    of the highest priority arrive at time a, none of them waiting. The topic's last taken slot had F_prev
    <= v(a), so S_prev <= v(a) - d, and its next slot, whether lower messages are waiting in it or not, has
    S <= max(v(a), S_prev + 1/r) <= v(a) + 1/r - d, hence F <= v(a) + 1/r. The j-th message of the highest
    priority gets the j-th slot from there: F <= v(a) + j/r. Before it go j-1 of its own kind, at most 1 +
    ⌊r_k j/r⌋ of each other topic, and one lower message of its own topic if that was in service at a:

        t(j) = (1/μ) [ j + 1 + Σ_{k≠i} ( 1 + ⌊r_k j/r_i⌋ ) ]  <=  t_c(j+1) of (V1)
    """
    place = Place.checked(rates, deadlines, topic, service)
    flow_burst = exact.at_least_one("burst", burst)
    flow_rate = exact.nonnegative("rate", rate)
    place.require_rate(flow_rate)

    def done(j: int) -> Fraction:
        return place.service * (j + 1 + place.ahead(j / place.own))

    line = place.service * len(place.rates) + place.slope
    return envelope.worst_below_line(done, line, place.slope, flow_burst, flow_rate, place.span)
