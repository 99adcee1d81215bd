"""Which verdicts are looked at again, and when, so that telling them never keeps the others waiting.

A contract is looked at in the next turn when a publisher came or went on its topics. Everything else that is
admitted may change its bound too: then all contracts are looked at in turn, some of them five times a second.
A contract on very many topics is looked at once a second at most, whatever it is for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice

from giusto.broker.contracts import Contract, Contracts
from giusto.errors import Overload
from giusto.guarantee.book import Book

AT_ONCE = 64
"""Contracts that are told in one turn; of a round, so many are looked at."""
ROUND_EVERY_NS = 200_000_000
WIDE = 32
"""A contract on more topics than that is a wide one."""
WIDE_EVERY_NS = 1_000_000_000


class Renewal:
    """The contracts whose verdict may be another one than their clients were told."""

    def __init__(self, book: Book, contracts: Contracts, clock: Callable[[], int]) -> None:
        self._book = book
        self._contracts = contracts
        self._clock = clock
        self._moved: dict[Contract, None] = {}
        self._wide: dict[Contract, None] = {}
        self._round: list[Contract] = []
        self._epoch = book.epoch
        self._round_ns = self._wide_ns = clock()

    def exchange(self, book: Book) -> None:
        """Verdicts follow from another book from now on: all are looked at again."""
        self._book = book

    def move(self, contracts: Iterable[Contract]) -> None:
        """Publishers came or went on the topics of these contracts."""
        for contract in contracts:
            place = self._wide if _is_wide(contract) else self._moved
            place[contract] = None

    def take(self) -> list[Contract]:
        """Those that are to be looked at in this turn."""
        now_ns = self._clock()
        if now_ns >= self._round_ns:
            self._round_ns = now_ns + ROUND_EVERY_NS
            self._go_round()
        found = _some(self._moved)
        if self._wide and now_ns >= self._wide_ns:
            self._wide_ns = now_ns + WIDE_EVERY_NS
            found += _some(self._wide)
        return [one for one in found if self._is_live(one)]

    def _go_round(self) -> None:
        """The next part of the round; a new one only if something was admitted since the last began."""
        if not self._round and self._epoch != self._book.epoch:
            self._epoch = self._book.epoch
            self._round = list(self._contracts.by_key.values())
        part, self._round = self._round[:AT_ONCE], self._round[AT_ONCE:]
        self.move(one for one in part if self._is_live(one) and (_is_wide(one) or self._is_news(one)))

    def _is_live(self, contract: Contract) -> bool:
        is_kept = self._contracts.by_key.get(contract.key) is contract
        return is_kept and contract.subscription is not None and contract.promise_ns is not None

    def _is_news(self, contract: Contract) -> bool:
        """Whether its largest bound, or whose it is, differs from what was told."""
        try:
            worst = self._book.worst_flow(contract.topics)
        except Overload:
            return True
        told = contract.told
        if told is None or worst is None:
            return told is not None and told.bound_ns != contract.promise_ns
        return (told.bound_ns, told.publisher, told.topic) != worst


def _is_wide(contract: Contract) -> bool:
    return len(contract.topics) > WIDE


def _some(contracts: dict[Contract, None]) -> list[Contract]:
    """Take out as many as one turn may have."""
    found = list(islice(contracts, AT_ONCE))
    for contract in found:
        del contracts[contract]
    return found
