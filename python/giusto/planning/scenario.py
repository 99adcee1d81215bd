"""What is planned: a broker, the topics, and who offers and needs what, as plain values."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

from giusto import _core
from giusto.config import BrokerConfig
from giusto.contract import Need, Offer
from giusto.errors import InvalidInput
from giusto.guarantee.basis import setting_of
from giusto.guarantee.costs import Costs
from giusto.guarantee.model import Rest, Setting
from giusto.protocol import ShareTerms

POLICIES = ("twrr", "smooth", "fair", "edf")
"""The policies of the input stage that have bounds."""

ANY = "any"
"""In place of a policy: the first of them under which all needs hold."""

# More offers and needs than this are no scenario, but a mistake.
ENTRIES_MAX = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Offered:
    """An offer of one client on one topic; `path` is where it was said."""

    client: str
    topic: str
    offer: Offer
    path: str = "offer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Needed:
    """A subscription: what a client needs of all topics that a pattern covers."""

    client: str
    pattern: str
    need: Need
    path: str = "need"


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """All that the bounds of a broker depend on. A topic that is not in `shares` gets what the plan chooses.

    `rest` is what may come beside: the largest message and fan-out of traffic that is not named. The policy
    is `input`, whatever `config` says.
    """

    offers: tuple[Offered, ...]
    needs: tuple[Needed, ...]
    shares: tuple[tuple[str, ShareTerms], ...] = ()
    input: str = "twrr"
    config: BrokerConfig = field(default_factory=BrokerConfig)
    costs: Costs = field(default_factory=Costs)
    rest: Rest = field(default_factory=Rest)

    def __post_init__(self) -> None:
        if not self.needs:
            raise InvalidInput("need", "none", "at least one [[need]]: a plan is made for needs")
        if len(self.offers) + len(self.needs) > ENTRIES_MAX:
            count = len(self.offers) + len(self.needs)
            raise InvalidInput("scenario", f"{count} entries", f"at most {ENTRIES_MAX} offers and needs")
        self._require_single()
        for needed in self.needs:
            if not self.covered[needed]:
                expected = "a topic that is offered or has a [[topic]], or a pattern that covers one"
                raise InvalidInput(f"{needed.path}.topic", needed.pattern, expected)

    def _require_single(self) -> None:
        seen: dict[tuple[str, str], str] = {}
        for offered in self.offers:
            first = seen.setdefault((offered.client, offered.topic), offered.path)
            if first != offered.path:
                expected = f"another topic: {offered.client} offers this one in {first} already"
                raise InvalidInput(f"{offered.path}.topic", offered.topic, expected)

    def setting(self, policy: str) -> Setting:
        """How the broker would serve under a policy, as far as bounds depend on it."""
        return setting_of(replace(self.config, input=policy), self.costs)

    @cached_property
    def topics(self) -> tuple[str, ...]:
        """Every topic that is named or offered, in the order of the scenario."""
        named = [name for name, _ in self.shares]
        return tuple(dict.fromkeys([*named, *(offered.topic for offered in self.offers)]))

    @cached_property
    def covered(self) -> dict[Needed, tuple[str, ...]]:
        """The topics that each need covers."""
        known = set(self.topics)
        found: dict[str, tuple[str, ...]] = {}
        for pattern in dict.fromkeys(needed.pattern for needed in self.needs):
            if pattern in known:
                found[pattern] = (pattern,)
            else:
                found[pattern] = tuple(name for name in self.topics if _core.topic_matches(pattern, name))
        return {needed: found[needed.pattern] for needed in self.needs}
