"""What a subscription asks of the bus."""

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
from giusto.contract.values import amount, keep
from giusto.errors import InvalidInput
from giusto.protocol import NeedTerms


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Need:
    """A promise to be proved, and what a delivery in time is worth.

    A message later than `max_latency` is still delivered, and reported as a miss. One later than `deadline`
    is worth nothing, and the output stage may drop it; before that it earns `price`, and late or lost it
    costs `penalty`. `max_sep` and `rate` say how often messages are expected.
    """

    max_latency_ns: int | None
    max_sep_ns: int | None
    count: int | None
    period_ns: int | None
    deadline_ns: int | None
    price: float
    penalty: float

    def __init__(
        self,
        max_latency: Duration | None = None,
        max_sep: Duration | None = None,
        rate: Rate | None = None,
        deadline: Duration | None = None,
        price: float = 0,
        penalty: float = 0,
    ) -> None:
        count, period_ns = (None, None) if rate is None else rate_terms(rate, "rate")
        keep(
            self,
            max_latency_ns=None
            if max_latency is None
            else duration_ns(max_latency, "max_latency", least_ns=1),
            max_sep_ns=None if max_sep is None else duration_ns(max_sep, "max_sep", least_ns=1),
            count=count,
            period_ns=period_ns,
            deadline_ns=None if deadline is None else duration_ns(deadline, "deadline", least_ns=1),
            price=amount("price", price),
            penalty=amount("penalty", penalty),
        )
        for field, value in (("price", self.price), ("penalty", self.penalty)):
            if value and deadline is None:
                raise InvalidInput(field, value, "a deadline beside it")

    @property
    def latest_ns(self) -> int | None:
        """The latency above which a delivery is a miss: the smaller of `max_latency` and `deadline`."""
        asked = [limit for limit in (self.max_latency_ns, self.deadline_ns) if limit is not None]
        return min(asked, default=None)

    def terms(self) -> NeedTerms:
        """The need as it goes over the wire."""
        return NeedTerms(
            max_latency_ns=self.max_latency_ns,
            max_sep_ns=self.max_sep_ns,
            count=self.count,
            period_ns=self.period_ns,
            deadline_ns=self.deadline_ns,
            price=self.price,
            penalty=self.penalty,
        )

    @classmethod
    def from_terms(cls, terms: NeedTerms) -> Need:
        """The need that came over the wire; refuses what `Need` refuses."""
        return cls(
            max_latency=None if terms.max_latency_ns is None else f"{terms.max_latency_ns}ns",
            max_sep=None if terms.max_sep_ns is None else f"{terms.max_sep_ns}ns",
            rate=rate_of(terms.count, terms.period_ns),
            deadline=None if terms.deadline_ns is None else f"{terms.deadline_ns}ns",
            price=terms.price,
            penalty=terms.penalty,
        )

    def __repr__(self) -> str:
        return call("Need", dict(self._spelled()))

    def __str__(self) -> str:
        return ", ".join(f"{name} {value}" for name, value in self._shown()) or "no demands"

    def _repr_html_(self) -> str:
        return table("Need", list(self._shown()) or [("", "no demands")])

    def _spelled(self) -> Iterator[tuple[str, object]]:
        """What was asked, as arguments."""
        if self.max_latency_ns is not None:
            yield "max_latency", spell_ns(self.max_latency_ns)
        if self.max_sep_ns is not None:
            yield "max_sep", spell_ns(self.max_sep_ns)
        if self.count is not None and self.period_ns is not None:
            yield "rate", spell_rate(self.count, self.period_ns)
        if self.deadline_ns is not None:
            yield "deadline", spell_ns(self.deadline_ns)
        if self.price:
            yield "price", self.price
        if self.penalty:
            yield "penalty", self.penalty

    def _shown(self) -> Iterator[tuple[str, str]]:
        """The demands in words."""
        if self.max_latency_ns is not None:
            yield "never later than", show_ns(self.max_latency_ns)
        if self.max_sep_ns is not None:
            yield "at least one message per", show_ns(self.max_sep_ns)
        if self.count is not None and self.period_ns is not None:
            yield "at", show_rate(self.count, self.period_ns)
        if self.deadline_ns is not None:
            yield "worthless after", show_ns(self.deadline_ns)
        if self.price:
            yield "in time worth", f"{self.price:g}"
        if self.penalty:
            yield "late or lost costs", f"{self.penalty:g}"
