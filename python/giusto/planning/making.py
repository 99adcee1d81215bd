"""How a plan comes about: which needs are refused, which shares are tried, what the bounds are then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property

from giusto.errors import Nearest, milliseconds
from giusto.guarantee.book import Book
from giusto.guarantee.forgiving import meeting_ns
from giusto.guarantee.supplies import size_of
from giusto.planning import nearest, rules
from giusto.planning.choosing import Chosen, Outcome, chosen
from giusto.planning.result import Contract, Failure, Plan
from giusto.planning.scenario import Needed, Scenario
from giusto.planning.search import Assignment, Nothing, assigned, filled, worst
from giusto.planning.traffic import UNCHANGED, Changed, traffic

EFFORT = 40_000
"""Offers and needs looked at, again and again, when not all hold: large plans say less about failures."""

REFUSAL, NEAREST = 6, 25
"""Attempts that one refusal, and one search of the nearest, takes about."""


class Maker:
    """Plans one scenario for one policy."""

    def __init__(self, scenario: Scenario, policy: str, *, search: bool) -> None:
        self.scenario = scenario
        self.policy = policy
        self.search = search
        self.setting = scenario.setting(policy)
        self.given = dict(scenario.shares)
        self.known: dict[tuple[int, ...], Outcome] = {}
        self.refused = rules.refusals(scenario, self.setting)
        open_needs = [n for n in range(len(scenario.needs)) if n not in self.refused]
        self.always = [n for n in open_needs if scenario.needs[n].need.max_latency_ns is None]
        self.wanted = [n for n in open_needs if scenario.needs[n].need.max_latency_ns is not None]

    def attempt(self, granted: Sequence[int], changed: Changed = UNCHANGED) -> Outcome:
        """Shares under which these needs hold."""
        found = traffic(self.scenario, granted, changed)
        return assigned(found, self.setting, self.given, search=self.search)

    def attempt_again(self, granted: Sequence[int]) -> Outcome:
        """The same for needs as they are, remembered."""
        key = tuple(granted)
        if key not in self.known:
            self.known[key] = self.attempt(key)
        return self.known[key]

    @cached_property
    def choice(self) -> Chosen:
        """Which needs hold, and with which shares."""
        return chosen(self.always, self.wanted, self.attempt_again, self.some(REFUSAL, 50))

    def some(self, attempts: int, most: int) -> int:
        """How often something that takes so many attempts is done."""
        entries = len(self.scenario.offers) + len(self.scenario.needs)
        return max(1, min(most, EFFORT // (entries * attempts)))

    @property
    def holds(self) -> bool:
        """Whether all needs hold."""
        return not self.refused and not self.choice.refused and not self.choice.untried

    def plan(self, *, near: bool = True) -> Plan:
        """The whole answer; without `near` nothing is said about what could be held instead."""
        found = traffic(self.scenario, self.choice.granted)
        book = filled(found, self.setting, self.choice.assignment.shares)
        return Plan(
            scenario=self.scenario,
            input=self.policy,
            contracts=tuple(self._contracts(book)),
            failures=tuple(self._failures(self.some(NEAREST, 10) if near else 0)),
            shares=self.choice.assignment.shares,
            utilisation=float(book.utilisation),
            claim=self.claim,
        )

    @property
    def claim(self) -> str:
        """What is proved: about the shares if all holds, else why the first need does not."""
        first = next(iter(self.choice.refused.values()), None)
        if first is not None:
            return first.sentence
        granted = (self.scenario.needs[number].need for number in self.choice.granted)
        if self.refused and all(need.max_latency_ns is None for need in granted):
            return "no need that asks for a latency can be held: there is nothing to prove about shares"
        return self.choice.assignment.claim

    def _contracts(self, book: Book) -> list[Contract]:
        needs = self.scenario.needs
        bounds = {topic: worst(book, topic) for topic in book.topics}
        contracts = []
        for number in self.choice.granted:
            latency_ns = needs[number].need.max_latency_ns
            for topic in self.scenario.covered[needs[number]]:
                if latency_ns is None:
                    continue
                bound = bounds[topic]
                contracts.append(
                    Contract(
                        need=needs[number].path,
                        client=needs[number].client,
                        topic=topic,
                        publisher=None if bound is None else bound.client,
                        promise_ns=latency_ns,
                        bound_ns=latency_ns if bound is None else bound.total_ns,
                        parts=() if bound is None else bound.parts,
                    )
                )
        return contracts

    def _failures(self, most: int) -> list[Failure]:
        found = dict(self.refused)
        for place, (number, nothing) in enumerate(self.choice.refused.items()):
            near = self._nearest(number, nothing) if place < most else None
            found[number] = self._failure(number, nothing, near)
        for number in self.choice.untried:
            found[number] = Failure.of(self.scenario.needs[number], "untried", "too many before it fail")
        return [failure for _, failure in sorted(found.items())]

    def _failure(self, number: int, nothing: Nothing, near: Nearest | None) -> Failure:
        """A need that breaks its own promise, or that of others before it."""
        needed = self.scenario.needs[number]
        if nothing.topic and nothing.topic not in self.scenario.covered[needed]:
            why = "others" if nothing.why == "latency" else nothing.why
            return Failure.of(needed, why, nothing.sentence, near)
        is_mendable = near is None or near.max_latency_ns is not None
        owner = None if is_mendable or nothing.why == "tolerance" else self._owner(number)
        if owner is None:
            return Failure.of(needed, nothing.why, nothing.sentence, near)
        promise = (
            f"{milliseconds(owner.need.max_latency_ns or 0)}, promised to {owner.client!r} by {owner.path}"
        )
        reason = f"{promise}, would not hold: {nothing.sentence}; a longer max_latency would not help"
        return Failure.of(needed, "others", reason, near)

    def _owner(self, number: int) -> Needed | None:
        """Whose promise on the same topics is in the way, so that a need would hold without it."""
        topics = {*self.scenario.covered[self.scenario.needs[number]]}
        latencies = {n: self.scenario.needs[n].need.max_latency_ns for n in self.choice.granted}
        beside = (
            (latency_ns, n)
            for n, latency_ns in latencies.items()
            if latency_ns is not None and not topics.isdisjoint(self.scenario.covered[self.scenario.needs[n]])
        )
        _, first = min(beside, default=(0, None))
        if first is None:
            return None
        without = [n for n in self.choice.granted if n != first]
        is_alone = isinstance(self.attempt([*without, number]), Assignment)
        return self.scenario.needs[first] if is_alone else None

    def _nearest(self, number: int, nothing: Nothing) -> Nearest | None:
        """The smallest latency, and the largest rate on its topics, with which this need would hold too."""
        asked_ns = self.scenario.needs[number].need.max_latency_ns or 0
        latency_ns = nearest.least_latency_ns(asked_ns, lambda ns: self._with(number, latency_ns=ns))
        topics = frozenset(self.scenario.covered[self.scenario.needs[number]])
        factor = nearest.largest_factor(lambda part: self._with(number, factor=part, topics=topics))
        found = self._fastest(topics, factor)._replace(max_latency_ns=latency_ns)
        if nothing.why == "tolerance":
            found = found._replace(tolerance_ns=self._least_tolerance_ns(number, nothing))
        if nothing.why == "overload":
            found = found._replace(max_size_bytes=self._largest_size_bytes(number, topics))
        return None if found == Nearest() else found

    def _largest_size_bytes(self, number: int, topics: frozenset[str]) -> int | None:
        """The largest `max_size` on its topics with which the need would hold."""
        given = max((size_of(each.offer) for each in self.scenario.offers if each.topic in topics), default=0)
        return nearest.largest_size_bytes(
            given, lambda size_bytes: self._with(number, topics=topics, size_bytes_max=size_bytes)
        )

    def _least_tolerance_ns(self, number: int, nothing: Nothing) -> int | None:
        """The least `guarantee.tolerance` with which the need would hold."""
        config = self.scenario.config
        beside_ns = config.tolerance_ns - config.guarantee.tolerance_ns
        granted = [*self.choice.granted, number]

        def waits_ns(tolerance_ns: int) -> int | None:
            terms = replace(config.guarantee, tolerance_ns=tolerance_ns)
            scenario = replace(self.scenario, config=replace(config, guarantee=terms))
            outcome = Maker(scenario, self.policy, search=self.search).attempt(granted)
            if isinstance(outcome, Assignment):
                return tolerance_ns
            is_known = outcome.why == "tolerance" and outcome.bound_ns is not None
            return outcome.bound_ns - beside_ns if is_known and outcome.bound_ns is not None else None

        present_ns = config.guarantee.tolerance_ns
        return meeting_ns((present_ns, (nothing.bound_ns or 0) - beside_ns), waits_ns)

    def _with(
        self,
        number: int,
        *,
        latency_ns: int | None = None,
        factor: Fraction = Fraction(1),
        size_bytes_max: int | None = None,
        topics: frozenset[str] | None = None,
    ) -> bool:
        """Whether the need would hold beside those that do, changed in this way."""
        promises = {} if latency_ns is None else {number: latency_ns}
        changed = Changed(
            factor=factor, size_bytes_max=size_bytes_max, topics=topics, max_latency_ns=promises
        )
        return isinstance(self.attempt([*self.choice.granted, number], changed), Assignment)

    def _fastest(self, topics: frozenset[str], factor: Fraction | None) -> Nearest:
        """The rate of the fastest flow on the topics when all are slowed down: one message per so many ns."""
        offers = [each for each in self.scenario.offers if each.topic in topics]
        rates = [Fraction(*each.offer.limit) for each in offers if each.offer.limit is not None]
        if factor is None or not rates:
            return Nearest()
        return Nearest(
            count=1,
            period_ns=-int(-1 // (max(rates) * factor)),
            publishers=tuple(sorted({each.client for each in offers})),
            lower_permille=int(1_000 * (1 - factor)),
        )
