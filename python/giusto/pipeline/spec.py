"""Which sweep a TOML file describes, or which of its values is wrong: `grid[2].rate`.

experiment = "module:function"      or a short name
seeds = 20                          every case with seed = 0 … 19

[[grid]]                            every combination; several grids are one sweep
policy = ["mtep", "fifo"]
rate = {from = 1, to = 5}           also with step
weight = 0.4
"""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from giusto.config.names import quoted, require_known, table
from giusto.errors import InvalidInput
from giusto.pipeline.cases import SEED, Value, grid, options

MOST = 10_000_000


@dataclass(frozen=True, slots=True)
class Spec:
    """An experiment and its grids; `seeds` as often, if given."""

    experiment: str
    grids: tuple[dict[str, list[Value]], ...] = field(default_factory=lambda: ({},))
    seeds: int | None = None

    def cases(self) -> list[dict[str, Value]]:
        """Every case of every grid."""
        return list(itertools.chain.from_iterable(grid(**self._seeded(n)) for n in range(len(self.grids))))

    def changed(self, parameters: Mapping[str, list[Value]], seeds: int | None) -> Spec:
        """The same with other values of some parameters in every grid."""
        grids = tuple({**each, **parameters} for each in self.grids)
        return Spec(self.experiment, grids, self.seeds if seeds is None else seeds)

    def _seeded(self, n: int) -> dict[str, list[Value]]:
        found = dict(self.grids[n])
        if self.seeds is not None:
            if self.seeds < 1:
                raise InvalidInput("seeds", self.seeds, "a whole number from 1")
            if SEED in found:
                raise InvalidInput(SEED, found[SEED], "either seeds or the parameter seed")
            found[SEED] = list(range(self.seeds))
        return found


def read(path: str | Path) -> Spec:
    """The sweep of a TOML file."""
    try:
        document = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidInput("table", path, f"a file that can be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidInput("table", path, f"a TOML file: {error}") from None
    return from_document(document)


def from_document(document: Mapping[str, Any]) -> Spec:
    """The sweep that is described as in a file."""
    for key in document:
        require_known(key, ("experiment", "seeds", "grid"), quoted(key))
    experiment = document.get("experiment")
    if not isinstance(experiment, str):
        raise InvalidInput("experiment", experiment, 'a name, such as "module:function"')
    seeds = document.get("seeds")
    if seeds is not None and (type(seeds) is not int or seeds < 1):
        raise InvalidInput("seeds", seeds, "a whole number from 1")
    grids = document.get("grid", [{}])
    if not isinstance(grids, list):
        raise InvalidInput("grid", grids, "tables: [[grid]]")
    return Spec(experiment, tuple(choices(each, f"grid[{n}]") for n, each in enumerate(grids)), seeds)


def choices(given: object, path: str) -> dict[str, list[Value]]:
    """The values of each parameter of one grid."""
    return {name: chosen(value, f"{path}.{quoted(name)}") for name, value in table(given, path).items()}


def chosen(value: object, path: str) -> list[Value]:
    """One value, several, or a span."""
    if isinstance(value, dict):
        for key in value:
            require_known(key, ("from", "to", "step"), f"{path}.{quoted(key)}")
        ends = [value.get("from"), value.get("to"), value.get("step", 1)]
        if any(type(end) not in (int, float) for end in ends):
            raise InvalidInput(path, value, "{from = 1, to = 5}, with a step if it is not 1")
        return span(path, *(str(end) for end in ends))
    values = options(path, value)  # type: ignore[arg-type]
    for n, each in enumerate(values):
        if type(each) not in (bool, int, float, str):
            raise InvalidInput(f"{path}[{n}]", each, "a number, a text, true or false")
    return values


def span(path: str, low: str, high: str, step: str = "1") -> list[Value]:
    """From `low` to `high`, both included, in decimal steps: 0.1 three times is 0.3."""
    start, end, by = Decimal(low), Decimal(high), Decimal(step)
    if not (start.is_finite() and end.is_finite() and by.is_finite()):
        raise InvalidInput(path, f"{low}..{high}..{step}", "finite numbers")
    if by <= 0 or end < start or (end - start) / by > MOST:
        raise InvalidInput(
            path, f"{low}..{high}..{step}", f"low..high..step, upwards in at most {MOST:,} steps"
        )
    values = [start + k * by for k in range(int((end - start) / by) + 1)]
    if all(each == each.to_integral_value() for each in (start, by)) and "." not in low + step:
        return [int(each) for each in values]
    return [float(each) for each in values]
