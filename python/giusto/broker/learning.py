"""What a broker makes of what was measured: a model is taken up only if every promise holds with it.

Costs are raised, never lowered: the largest that was seen is no bound. A model of nothing takes back what the
ones before it changed. Whose models count, and which kinds are applied and not only reported, is configured.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial

from giusto.broker.desk import Desk
from giusto.broker.guarded import Guarded
from giusto.broker.holdings import offer_of
from giusto.broker.measuring import suggestion, widened
from giusto.broker.plane import Plane
from giusto.broker.registry import Flow, Registry
from giusto.config import BrokerConfig
from giusto.config.broker import share_of
from giusto.contract import Offer, show_ns
from giusto.errors import Refused, milliseconds
from giusto.guarantee.book import Book
from giusto.guarantee.model import Setting
from giusto.guarantee.repricing import Served, excess, raised, repriced
from giusto.models import EnvelopeModel, LinkModel, Model, ModelVerdict, QuantumModel, kind_of

ENOUGH = 1_000
"""So many quanta of a kind are needed to say what one of a hundred takes."""
FACTOR_MAX = 10
"""Costs that are wrong by more are not wrong: something else took the time."""
KEPT_MAX = 256

Decision = tuple[str, str]
_log = logging.getLogger("giusto.broker")


class Learning:
    """The models that came, what became of them, and offers that would suit publishers without one."""

    def __init__(
        self,
        plane: Plane,
        registry: Registry,
        guarded: Guarded,
        desk: Desk,
        config: BrokerConfig,
        clock: Callable[[], int],
        node: str = "",
        run: str = "",
    ) -> None:
        self._plane = plane
        self._registry = registry
        self._guarded = guarded
        self._desk = desk
        self._modes = config.models
        self._tolerance_ns = config.tolerance_ns
        self._clock = clock
        self._node = node
        self._run = run
        self._costs = guarded.book.setting.costs
        self._link_out = guarded.book.setting.link_out
        self._factor = Fraction(1)
        self._verdicts: dict[tuple[str, str], ModelVerdict] = {}

    @property
    def verdicts(self) -> list[ModelVerdict]:
        """On the newest model of each subject, the newest last."""
        return list(self._verdicts.values())

    def learn(self, model: Model, source: str) -> ModelVerdict:
        """Decide about a model that a client came with, and do what was decided."""
        unheard = self._unheard(model, source)
        if unheard is not None:
            return self._verdict(model, ("kept", unheard))
        match model:
            case QuantumModel():
                decision = self._quantum(model)
            case EnvelopeModel():
                decision = self._envelope(model)
            case LinkModel():
                decision = self._link(model)
        verdict = self._verdict(model, decision)
        self._remember(verdict)
        return verdict

    def _unheard(self, model: Model, source: str) -> str | None:
        """Why a model is not looked at, if it is not."""
        if not self._modes.listen:
            return "this broker does not take up models, see models.listen"
        if not self._modes.trusts(source):
            return f"models of {source} do not count, see models.sources"
        if self._node and model.run != self._run:
            return "it is of another run"
        return None

    def _verdict(self, model: Model, decision: Decision) -> ModelVerdict:
        decided, reason = decision
        return ModelVerdict(
            kind=kind_of(model), subject=model.subject, decision=decided, reason=reason, at_ns=self._clock()
        )

    def _remember(self, verdict: ModelVerdict) -> None:
        decision = verdict.decision
        _log.log(logging.INFO if decision in ("applied", "kept") else logging.WARNING, "%s", verdict)
        self._verdicts.pop((verdict.kind, verdict.subject), None)
        self._verdicts[verdict.kind, verdict.subject] = verdict
        while len(self._verdicts) > KEPT_MAX:
            del self._verdicts[next(iter(self._verdicts))]

    # --- what serving costs

    def _quantum(self, model: QuantumModel) -> Decision:
        if self._node and model.node != self._node:
            return "kept", f"this is {self._node}"
        if not model.costs:
            return self._forget_quanta()
        known = [
            Served(one.size_bytes, one.fan_out, one.p99_ns) for one in model.costs if one.count >= ENOUGH
        ]
        if not known:
            return "kept", f"fewer than {ENOUGH:,} of any kind were measured"
        factor = excess(self._costs, known)
        times = f"one of a hundred takes {float(factor):.2f} times what it was taken for at the start"
        if factor <= self._factor:
            return "kept", f"the costs cover it: {times}"
        if factor > FACTOR_MAX:
            return "reported", f"{times}: that is not the work of the broker, see `giusto doctor`"
        setting = replace(self._guarded.book.setting, costs=raised(self._costs, factor))
        decision = self._price(setting, self._modes.quantum, times)
        if decision[0] == "applied":
            self._factor = factor
        return decision

    def _forget_quanta(self) -> Decision:
        if self._factor == 1:
            return "kept", "the costs are those of the start"
        setting = replace(self._guarded.book.setting, costs=self._costs)
        decision = self._price(setting, self._modes.quantum, "the costs are those of the start again")
        if decision[0] == "applied":
            self._factor = Fraction(1)
        return decision

    # --- how long links take

    def _link(self, model: LinkModel) -> Decision:
        if self._node and model.source != self._node:
            return "kept", f"it does not begin at {self._node}"
        if not model.count:
            return self._forget_links()
        if not self._registry.has_name(model.target):
            return "kept", f"nobody is connected as {model.target}"
        setting = self._guarded.book.setting
        limit_ns = setting.link_out.delay_ns
        seen = f"up to {milliseconds(model.largest_ns)} was seen"
        if model.largest_ns <= limit_ns:
            return "kept", f"{seen}, {milliseconds(limit_ns)} is reckoned with"
        reason = f"{seen}, only {milliseconds(limit_ns)} is reckoned with: see guarantee.link_delay_out"
        link_out = replace(setting.link_out, delay_ns=model.largest_ns)
        return self._price(replace(setting, link_out=link_out), self._modes.link, reason)

    def _forget_links(self) -> Decision:
        setting = self._guarded.book.setting
        if setting.link_out == self._link_out:
            return "kept", "links are as configured"
        as_configured = replace(setting, link_out=self._link_out)
        return self._price(as_configured, self._modes.link, "links are as configured again")

    def _price(self, setting: Setting, mode: str, reason: str) -> Decision:
        """Whether all promises hold under another setting; it counts from now on if it may."""
        book, objection = repriced(self._guarded.book, setting)
        if objection is not None:
            return "refused", f"{reason}; {objection.sentence}"
        if mode == "report":
            return "reported", f"{reason}; every promise would hold"
        self._exchange(book)
        return "applied", f"{reason}; every promise holds"

    def _exchange(self, book: Book) -> None:
        """Promises rest on another book from now on; under `edf` shares follow from it."""
        before = self._guarded.book
        for name in self._guarded.topics:
            share, topic = book.wanted(name), self._registry.topics.get(name)
            if share is not None and topic is not None and share != before.wanted(name):
                self._plane.allot(topic.number, share_of(share))
        self._guarded.exchange(book)

    # --- how bursty flows are

    def _envelope(self, model: EnvelopeModel) -> Decision:
        flow = self._flow(model)
        if flow is None:
            return "kept", "it is not there now"
        offer = offer_of(flow.offer)
        if offer.limit is None:
            found = suggestion(model)
            self._suggest(flow, found)
            return "reported", f"it offers no limit; {found} would have covered it"
        needed = widened(offer, model, self._tolerance_ns)
        if isinstance(needed, str):
            return "kept", needed
        came = f"{model.closer:,} messages came closer than offered; {_burst(needed)} would cover them"
        if model.mean_hz * offer.limit[1] > 1.01e9 * offer.limit[0]:
            return "reported", f"it sends {model.mean_hz:,.0f} messages in a second, more often than offered"
        return self._widen(flow, needed, came)

    def _suggest(self, flow: Flow, offer: Offer) -> None:
        suggestions = self._desk.suggestions
        suggestions.pop((flow.client.name, flow.topic.name), None)
        suggestions[flow.client.name, flow.topic.name] = offer
        while len(suggestions) > KEPT_MAX:
            del suggestions[next(iter(suggestions))]

    def _widen(self, flow: Flow, needed: Offer, came: str) -> Decision:
        """Whether a flow may be as bursty as it is; if it may, its bucket lets it."""
        try:
            draft = self._desk.widened(flow, needed)
            if self._modes.envelope == "report":
                return "reported", f"{came}, and would be admitted"
            with self._desk.made(draft) as making:
                making.undo(partial(self._reoffer, flow, offer_of(flow.offer)))
                self._reoffer(flow, needed)
        except Refused as error:
            return "refused", f"{came}; {error.reason}"
        return "applied", f"{came}, and it may send so from now on"

    def _flow(self, model: EnvelopeModel) -> Flow | None:
        topic = self._registry.topics.get(model.topic)
        flows = topic.flows.values() if topic is not None else ()
        return next((flow for flow in flows if flow.client.name == model.publisher), None)

    def _reoffer(self, flow: Flow, offer: Offer) -> None:
        self._plane.reoffer(
            flow.client.conn,
            flow.number,
            max_size_bytes=offer.max_size_bytes,
            min_sep_ns=offer.min_sep_ns,
            count=offer.count,
            period_ns=offer.period_ns,
            burst=offer.burst,
            jitter_ns=offer.jitter_ns + self._tolerance_ns,
        )
        flow.offer = offer.terms()


def _burst(offer: Offer) -> str:
    return f"burst {offer.burst}, jitter {show_ns(offer.jitter_ns)}"
