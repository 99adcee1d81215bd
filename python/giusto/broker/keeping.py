"""What of a change is kept over a restart, and when: before the data plane is asked."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager

from msgspec.structs import replace

from giusto.broker.contracts import Contract
from giusto.broker.draft import Draft
from giusto.broker.holdings import Holding
from giusto.broker.rows import Kept, KeptNeed, KeptOffer, KeptShare, name_of
from giusto.broker.store import Store
from giusto.errors import NotKept
from giusto.guarantee.model import Allotted
from giusto.protocol import OfferTerms, ShareTerms

_log = logging.getLogger("giusto.broker")


class Keeping:
    """Drafts as rows of a store; without a store nothing is kept, and nothing of clients that are unnamed."""

    def __init__(
        self,
        store: Store | None,
        share: Callable[[str], ShareTerms],
        is_unnamed: Callable[[str], bool],
        place: Callable[[str], int | None],
    ) -> None:
        self._store = store
        self._share = share
        self._is_unnamed = is_unnamed
        self._place = place
        self._erased: list[Kept] | None = None

    @contextmanager
    def together(self) -> Iterator[None]:
        """All that is forgotten in the block is forgotten at its end, with one transaction."""
        self._erased = []
        try:
            yield
        finally:
            erased, self._erased = self._erased, None
            self._change([], erased)

    def write(self, draft: Draft, known: Callable[[str], bool]) -> None:
        """Keep what comes, forget what goes; raises `NotKept`. A `known` contract is kept already."""
        added, gone = self._added(draft, known), self._gone(draft) + self._usual_shares(draft.topics.values())
        if self._store is not None and (added or gone):
            self._store.change(added, map(name_of, gone))

    def unwrite(self, draft: Draft, known: Callable[[str], bool], topics: Mapping[str, Allotted]) -> None:
        """The data plane refused: as it was before, when these `topics` were guarded."""
        held = [one for one in draft.before if not self._is_unnamed(one.client)]
        before: list[Kept] = [self._kept_offer(one) for one in held]
        if draft.replaced is not None:
            before.append(_kept_need(draft.replaced))
        shares = self._shares(topics[name] for name in draft.topics if name in topics)
        self._change(before + shares, self._added(draft, known))

    def erase(self, draft: Draft) -> None:
        """Forget what has ended. What cannot be forgotten comes back after a restart, for a while."""
        released: list[Kept] = [KeptShare(topic, ShareTerms()) for topic in draft.released]
        if self._erased is None:
            self._change([], self._gone(draft) + released)
        else:
            self._erased += self._gone(draft) + released

    def give_up(self, client: str, topic: str) -> None:
        """A flow that was kept does not count any more."""
        self._change([], [KeptOffer(client, topic, OfferTerms())])

    def place_again(self, offers: Iterable[KeptOffer]) -> None:
        """The topics of flows that were kept have the numbers of this run, all of them at once."""
        moved = [one for one in offers if one.place != self._place(one.topic)]
        self._change([replace(one, place=self._place(one.topic)) for one in moved], [])

    def _change(self, added: list[Kept], gone: list[Kept]) -> None:
        if self._store is None or not (added or gone):
            return
        try:
            self._store.change(added, map(name_of, gone))
        except NotKept as error:
            _log.warning("%s", error)

    def _added(self, draft: Draft, known: Callable[[str], bool]) -> list[Kept]:
        held = [one for one in draft.holdings.values() if not self._is_unnamed(one.client)]
        added: list[Kept] = [self._kept_offer(one) for one in held]
        contract = draft.contract
        if contract is not None and not known(contract.key) and not self._is_unnamed(contract.client):
            added.append(_kept_need(contract))
        return added + self._shares(draft.topics.values())

    def _shares(self, topics: Iterable[Allotted]) -> list[Kept]:
        """What is not as the configuration says."""
        return [KeptShare(one.topic, one.share) for one in topics if one.share != self._share(one.topic)]

    def _usual_shares(self, topics: Iterable[Allotted]) -> list[Kept]:
        """What is as the configuration says again."""
        return [KeptShare(one.topic, one.share) for one in topics if one.share == self._share(one.topic)]

    def _gone(self, draft: Draft) -> list[Kept]:
        gone: list[Kept] = [self._kept_offer(held) for held in draft.ended]
        if draft.replaced is not None:
            gone.append(_kept_need(draft.replaced))
        return gone

    def _kept_offer(self, held: Holding) -> KeptOffer:
        return KeptOffer(held.client, held.topic, held.offer.terms(), self._place(held.topic))


def _kept_need(contract: Contract) -> KeptNeed:
    terms = contract.need.terms()
    return KeptNeed(contract.key, contract.client, contract.pattern, terms, contract.comparisons)
