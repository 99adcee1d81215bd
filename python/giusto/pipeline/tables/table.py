"""What a gold table is: sums of any set of rows that can be merged, and how the merged ones are read.

The law: `merge(partial(A) ∪ partial(B))` is `partial(A ∪ B)` if A and B are whole slices. A batch is one
partial of everything; a stream makes one whenever slices are complete, and merges them when somebody reads.
So both come to the same.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from giusto.pipeline.tables import selections

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

WINDOW_NS = 10_000_000_000
# A slice is all of a run that was sent in so much time. What looks at neighbours looks within a slice.
SLICE_NS = 10_000_000_000


@dataclass(frozen=True)
class Inputs:
    """What gold tables are made of: all rows of a batch, or those of some slices of a stream.

    `hops` are the good rows, each once, also those of messages that nobody was to get. `facts` is what
    records alone do not say (see `bronze.facts`), if it is known. `written` are the messages, if they were
    written for several tables to read. Of the runs in `gaps` records are missing.
    """

    deliveries: DataFrame
    hops: DataFrame
    facts: DataFrame | None = None
    window_ns: int = WINDOW_NS
    written: DataFrame | None = None
    gaps: frozenset[str] = frozenset()

    @property
    def messages(self) -> DataFrame:
        """Each message once at each node."""
        return selections.messages(self.hops) if self.written is None else self.written

    @property
    def selections(self) -> DataFrame:
        """Those of them that the node chose."""
        if self.written is None:
            return selections.selections(self.hops)
        return selections.chosen(self.written)


@dataclass(frozen=True)
class Table:
    """One gold table: `partial` makes sums, `merge` adds them, `present` makes of them what people read.

    What is known only in the end is no part of the sums. `with_facts` adds to merged sums what facts say of
    them, if there are any. `with_gaps` takes back what cannot be said of runs of which records are missing,
    told which rows those are.
    """

    name: str
    partial: Callable[[Inputs], DataFrame]
    merge: Callable[[DataFrame], DataFrame]
    present: Callable[[DataFrame], DataFrame]
    with_gaps: Callable[[DataFrame, Column], DataFrame] | None = None
    with_facts: Callable[[DataFrame, DataFrame | None], DataFrame] | None = None

    def of(self, inputs: Inputs) -> DataFrame:
        """The table of a whole batch."""
        return self.shown(self.partial(inputs), inputs.facts, inputs.gaps)

    def shown(self, merged: DataFrame, facts: DataFrame | None, gaps: Collection[str]) -> DataFrame:
        """What people read of merged sums, with what is known in the end."""
        found = self.present(merged if self.with_facts is None else self.with_facts(merged, facts))
        return found if self.with_gaps is None or not gaps else self.with_gaps(found, is_of(gaps))


def slice_of() -> Column:
    """The number of a row's slice in its run."""
    from pyspark.sql import functions as fn

    return fn.expr(f"t_sent_ns div {SLICE_NS}")


def is_of(runs: Collection[str]) -> Column:
    """Whether a row is of one of these runs."""
    from pyspark.sql import functions as fn

    return fn.coalesce("run", fn.lit("")).isin(sorted(runs))


def window_start(window_ns: int) -> Column:
    """When the window begins in which a message was sent."""
    from pyspark.sql import functions as fn

    return fn.expr(f"(t_sent_ns div {window_ns}) * {window_ns}")
