"""What the code of a paper consists of: experiments that measure, figures that draw, a single run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from giusto.errors import InvalidInput, Unknown
from giusto.papers.claim import Size, Value

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Code", "Findings", "Size", "Table", "Trial"]

_Choice = TypeVar("_Choice")
_Case = TypeVar("_Case")


@dataclass(frozen=True, slots=True)
class Trial:
    """How large an experiment is to be, and whom it tells how far it is."""

    size: Size
    report: Callable[[int, int], None] = lambda done, total: None

    def pick(self, small: _Choice, full: _Choice) -> _Choice:
        """What this size asks for."""
        return full if self.size is Size.FULL else small

    def each(self, cases: Sequence[_Case]) -> Iterator[_Case]:
        """The cases one after the other, each reported when it is done."""
        for done, case in enumerate(cases, 1):
            yield case
            self.report(done, len(cases))


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of values under names with units: what a figure is drawn from, and what its CSV holds."""

    columns: tuple[str, ...]
    rows: Sequence[tuple[Value, ...]]

    def __post_init__(self) -> None:
        for place, row in enumerate(self.rows):
            if len(row) != len(self.columns):
                raise InvalidInput(f"rows[{place}]", row, f"{len(self.columns)} values")

    def column(self, name: str, **where: Value) -> list[Any]:
        """The values of one column, of the rows in which other columns have the values given."""
        place, wanted = self._place(name), {self._place(key): value for key, value in where.items()}
        return [
            row[place] for row in self.rows if all(row[other] == value for other, value in wanted.items())
        ]

    def _place(self, name: str) -> int:
        if name not in self.columns:
            raise Unknown("column", name)
        return self.columns.index(name)


@dataclass(frozen=True, slots=True)
class Findings:
    """What an experiment found: a value for each of its claims, and tables for figures."""

    values: Mapping[str, Value]
    tables: Mapping[str, Table] = field(default_factory=dict)


Measure = Callable[[Trial], Findings]
Draw = Callable[[Mapping[str, Table]], "Figure"]


@dataclass(frozen=True, slots=True)
class Code:
    """The code of a paper.

    `once` is a single run; its keyword arguments are the paper's own options. `check` takes the same ones and
    refuses what cannot be run.
    """

    experiments: Mapping[str, Measure]
    figures: Mapping[str, Draw] = field(default_factory=dict)
    once: Callable[..., dict[str, Any]] | None = None
    check: Callable[..., None] | None = None
