"""How the bounds of a topic come about, for people: term by term, each with the label of its formula."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from giusto.contract.duration import show_ns
from giusto.contract.show import table
from giusto.contract.verdict import Part, parts_of
from giusto.protocol import Explained


@dataclass(frozen=True, slots=True)
class FlowExplained:
    """The bound of what one client publishes on the topic; the parts add up to it."""

    publisher: str
    bound_ns: int
    parts: tuple[Part, ...]
    topic_share: float
    client_share: float


@dataclass(frozen=True, slots=True)
class Promise:
    """A latency that was promised to a subscriber, which may be `away` for a while."""

    subscriber: str
    pattern: str
    promise_ns: int
    away: bool


@dataclass(frozen=True, slots=True)
class Explanation:
    """What was promised on a topic and why it holds. A topic without promises is not guarded.

    `fanout` is how many clients get each message, `utilisation` which part of the broker's time all guarded
    topics may take, `basis` on which costs the figures rest.
    """

    topic: str
    input: str
    basis: str
    utilisation: float
    fanout: int
    flows: tuple[FlowExplained, ...]
    promises: tuple[Promise, ...]

    @property
    def is_guarded(self) -> bool:
        """Whether the topic is under contract."""
        return bool(self.promises)

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        if not self.promises:
            yield f"{self.topic}: not guarded, nobody was promised a latency on it"
            return
        yield f"{self.topic}: {self.input}, {self.fanout} receive it, {100 * self.utilisation:.1f} % in use"
        for promise in self.promises:
            yield f"  promised to {_party(promise)}: never later than {show_ns(promise.promise_ns)}"
        if not self.flows:
            yield "  nobody publishes on it yet: publishers are admitted only if the promises hold"
        for flow in self.flows:
            yield from _flow_lines(flow)
        yield f"  rests on {self.basis}"

    def _repr_html_(self) -> str:
        return table(self.topic, [("", line) for line in self._lines()])


def _party(promise: Promise) -> str:
    covered = f"{promise.subscriber} by {promise.pattern}"
    return f"{covered} (away)" if promise.away else covered


def _flow_lines(flow: FlowExplained) -> Iterator[str]:
    shares = f"r_k {100 * flow.topic_share:.1f} %, θ_i {100 * flow.client_share:.1f} %"
    yield f"  from {flow.publisher}: at most {show_ns(flow.bound_ns)} ({shares})"
    for part in flow.parts:
        yield f"    {show_ns(part.ns):>12}  {part.name}" + (f" ({part.label})" if part.label else "")


def explanation(answer: Explained) -> Explanation:
    """The explanation that a broker sent."""
    return Explanation(
        topic=answer.topic,
        input=answer.input,
        basis=answer.basis,
        utilisation=answer.utilisation,
        fanout=answer.fanout,
        flows=tuple(
            FlowExplained(
                flow.publisher, flow.bound_ns, parts_of(flow.parts), flow.topic_share, flow.client_share
            )
            for flow in answer.flows
        ),
        promises=tuple(
            Promise(each.subscriber, each.pattern, each.promise_ns, each.away) for each in answer.promises
        ),
    )
