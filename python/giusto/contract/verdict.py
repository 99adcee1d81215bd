"""What the bus made of a need: a latency that it promises and why it can, or why it promises none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from giusto.contract.duration import show_ns
from giusto.contract.show import table
from giusto.protocol import PartTerms, VerdictTerms


@dataclass(frozen=True, slots=True)
class Part:
    """A term of a bound: what it is, how long, and the label of the formula that it comes from."""

    name: str
    ns: int
    label: str = ""


@dataclass(frozen=True, slots=True)
class Granted:
    """No delivery will be later than `promise_ns`, whatever is admitted later.

    `bound_ns` is what it comes to with what is admitted now; the `parts` add up to it. It is the bound of the
    worst flow, that of `publisher` on `topic`: `topic_share` is r_k, `client_share` θ_i. `basis` says on
    which costs it rests. While nobody publishes there are no parts, and the bound is the promise.
    """

    promise_ns: int
    bound_ns: int
    parts: tuple[Part, ...] = ()
    topic_share: float = 0.0
    client_share: float = 0.0
    basis: str = ""
    topic: str = ""
    publisher: str = ""
    reason: str = ""

    def __str__(self) -> str:
        return f"Granted: never later than {show_ns(self.promise_ns)} ({'; '.join(self._because())})"

    def _because(self) -> list[str]:
        if self.parts:
            said = f"at most {show_ns(self.bound_ns)} with what is admitted now"
            if self.bound_ns == self.promise_ns:
                said = f"{said}, which leaves no slack: whoever would make it longer is refused"
        else:
            said = "nobody publishes yet"
        return [text for text in (said, self.basis, self.reason) if text]

    def _repr_html_(self) -> str:
        rows = [("never later than", show_ns(self.promise_ns)), ("now at most", show_ns(self.bound_ns))]
        rows += [(f"· {part.name} {part.label}".rstrip(), show_ns(part.ns)) for part in self.parts]
        return table("Granted", [*rows, ("rests on", self.basis)])


@dataclass(frozen=True, slots=True)
class Unproved:
    """The subscription stands, without a promise; `reason` says why."""

    reason: str

    def __str__(self) -> str:
        return f"Unproved: {self.reason}"

    def _repr_html_(self) -> str:
        return table("Unproved", [("because", self.reason)])


Verdict: TypeAlias = Granted | Unproved


def verdict(terms: VerdictTerms) -> Verdict:
    """The verdict of a broker's answer."""
    if terms.promise_ns is None:
        return Unproved(terms.reason)
    return Granted(
        promise_ns=terms.promise_ns,
        bound_ns=terms.promise_ns if terms.bound_ns is None else terms.bound_ns,
        parts=parts_of(terms.parts),
        topic_share=terms.topic_share,
        client_share=terms.client_share,
        basis=terms.basis,
        topic=terms.topic,
        publisher=terms.publisher,
        reason=terms.reason,
    )


def parts_of(terms: list[PartTerms]) -> tuple[Part, ...]:
    """The terms of a bound as they came over the wire."""
    return tuple(Part(part.name, part.ns, part.label) for part in terms)
