"""What a publisher promises about its messages on a topic."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from giusto.contract.duration import (
    Duration,
    Rate,
    duration_ns,
    rate_of,
    rate_terms,
    show_ns,
    show_rate,
    spell_ns,
    spell_rate,
)
from giusto.contract.show import call, table
from giusto.contract.values import keep, no_more_often, whole
from giusto.errors import InvalidInput
from giusto.protocol import OfferTerms

# What a broker takes: the engine's limits.
HEADER_BYTES = 56  # of a data frame
SIZE_BYTES_MAX = 2**24 - HEADER_BYTES  # a frame without its header
SIZE_BYTES_DEFAULT = 2**20
QUEUE_MAX = 65_535
BURST_MAX = 2**31


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Offer:
    """At most one message per `min_sep`, or `rate`, with `burst` at once; each at most `max_size` bytes.

    A message is of no use `timeout` after it was sent. `max_sep` promises that messages keep coming.
    `jitter` is how late a message may leave against its plan, `queue` how many may wait in the broker.
    """

    min_sep_ns: int | None
    count: int | None
    period_ns: int | None
    burst: int
    max_sep_ns: int | None
    max_size_bytes: int | None
    timeout_ns: int
    jitter_ns: int
    queue: int

    def __init__(
        self,
        min_sep: Duration | None = None,
        rate: Rate | None = None,
        burst: int = 1,
        max_sep: Duration | None = None,
        max_size: int | None = None,
        timeout: Duration | None = None,
        jitter: Duration = 0,
        queue: int = 1024,
    ) -> None:
        if min_sep is not None and rate is not None:
            raise InvalidInput("rate", rate, "either a min_sep or a rate, not both")
        count, period_ns = (None, None) if rate is None else rate_terms(rate, "rate")
        keep(
            self,
            min_sep_ns=None if min_sep is None else duration_ns(min_sep, "min_sep", least_ns=1),
            count=count,
            period_ns=period_ns,
            burst=whole("burst", burst, 1, BURST_MAX),
            max_sep_ns=None if max_sep is None else duration_ns(max_sep, "max_sep", least_ns=1),
            max_size_bytes=None if max_size is None else whole("max_size", max_size, 1, SIZE_BYTES_MAX),
            timeout_ns=0 if timeout is None else duration_ns(timeout, "timeout", least_ns=1),
            jitter_ns=duration_ns(jitter, "jitter"),
            queue=whole("queue", queue, 1, QUEUE_MAX),
        )
        self._check_together()

    def _check_together(self) -> None:
        """Raise `InvalidInput` for promises that contradict or need each other."""
        limit = self.limit
        if limit is None:
            for field, value, absent in (("burst", self.burst, 1), ("jitter", self.jitter_ns, 0)):
                if value != absent:
                    raise InvalidInput(field, value, "a min_sep or a rate beside it")
        elif self.max_sep_ns is not None and no_more_often(limit, self.max_sep_ns):
            expected = f"at least what {show_rate(*limit)} leaves between two messages"
            raise InvalidInput("max_sep", show_ns(self.max_sep_ns), expected)

    @property
    def limit(self) -> tuple[int, int] | None:
        """Messages per nanoseconds, however it was said; `None` if the offer does not limit them."""
        if self.min_sep_ns is not None:
            return 1, self.min_sep_ns
        if self.count is not None and self.period_ns is not None:
            return self.count, self.period_ns
        return None

    @property
    def separation_ns(self) -> int | None:
        """Time between two messages at its limit, rounded down: `min_sep_ns` of records."""
        return None if self.limit is None else self.limit[1] // self.limit[0]

    def terms(self) -> OfferTerms:
        """The offer as it goes over the wire."""
        return OfferTerms(
            min_sep_ns=self.min_sep_ns,
            count=self.count,
            period_ns=self.period_ns,
            burst=self.burst,
            jitter_ns=self.jitter_ns,
            max_sep_ns=self.max_sep_ns,
            max_size_bytes=self.max_size_bytes,
            timeout_ns=self.timeout_ns,
            queue=self.queue,
        )

    @classmethod
    def from_terms(cls, terms: OfferTerms) -> Offer:
        """The offer that came over the wire; refuses what `Offer` refuses."""
        return cls(
            min_sep=None if terms.min_sep_ns is None else f"{terms.min_sep_ns}ns",
            rate=rate_of(terms.count, terms.period_ns),
            burst=terms.burst,
            max_sep=None if terms.max_sep_ns is None else f"{terms.max_sep_ns}ns",
            max_size=terms.max_size_bytes,
            timeout=f"{terms.timeout_ns}ns" if terms.timeout_ns else None,
            jitter=f"{terms.jitter_ns}ns",
            queue=terms.queue,
        )

    def __repr__(self) -> str:
        return call("Offer", dict(self._spelled()))

    def __str__(self) -> str:
        return ", ".join(f"{name} {value}" for name, value in self._shown()) or "no promises"

    def _repr_html_(self) -> str:
        return table("Offer", list(self._shown()) or [("", "no promises")])

    def _spelled(self) -> Iterator[tuple[str, object]]:
        """What was said and is not the default, as arguments."""
        if self.min_sep_ns is not None:
            yield "min_sep", spell_ns(self.min_sep_ns)
        if self.count is not None and self.period_ns is not None:
            yield "rate", spell_rate(self.count, self.period_ns)
        if self.burst != 1:
            yield "burst", self.burst
        if self.max_sep_ns is not None:
            yield "max_sep", spell_ns(self.max_sep_ns)
        if self.max_size_bytes is not None:
            yield "max_size", self.max_size_bytes
        if self.timeout_ns:
            yield "timeout", spell_ns(self.timeout_ns)
        if self.jitter_ns:
            yield "jitter", spell_ns(self.jitter_ns)
        if self.queue != 1024:
            yield "queue", self.queue

    def _shown(self) -> Iterator[tuple[str, str]]:
        """The promises in words."""
        if self.min_sep_ns is not None:
            yield "at most one message per", show_ns(self.min_sep_ns)
        if self.count is not None and self.period_ns is not None:
            yield "at most", f"{show_rate(self.count, self.period_ns)}"
        if self.burst != 1:
            yield "at once", str(self.burst)
        if self.max_sep_ns is not None:
            yield "at least one message per", show_ns(self.max_sep_ns)
        if self.max_size_bytes is not None:
            yield "of at most", f"{self.max_size_bytes:,} bytes"
        if self.timeout_ns:
            yield "of use for", show_ns(self.timeout_ns)
        if self.jitter_ns:
            yield "released late by at most", show_ns(self.jitter_ns)


def leeway_ns(*, separation_ns: int, burst: int, jitter_ns: int) -> int:
    """How much earlier messages may come than one in each separation, if the offer is kept.

    Any window of n messages has n·P - span of at most burst·P + jitter, with P the separation; a single
    message has P.
    """
    return (burst - 1) * separation_ns + jitter_ns
