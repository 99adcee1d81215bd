"""Which runs a sweep has: a table of cases, one column per parameter, and a digest that names each case."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from giusto.errors import InvalidInput

if TYPE_CHECKING:
    import pyarrow as pa

Value: TypeAlias = bool | int | float | str

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
CASE, SECONDS, ERROR, TRACE = "case", "seconds", "error", "trace"
RESERVED = frozenset({CASE, SECONDS, ERROR, TRACE})
# The columns of a summary after those of its groups.
RESULT, COUNT, MEAN, DEVIATION, HALF_WIDTH, LEAST, MOST = SUMMARY_COLUMNS = (
    "result",
    "count",
    "mean",
    "deviation",
    "half_width",
    "least",
    "most",
)
SEED = "seed"
# What the values of one parameter are, by the type of Python.
KINDS: dict[type, str] = {bool: "truth", int: "whole", float: "number", str: "text"}
WHOLE_MIN, WHOLE_MAX = -(2**63), 2**63 - 1


@dataclass(frozen=True, slots=True)
class Cases:
    """Cases without doubles, and the kind of each parameter: truth, whole, number or text."""

    kinds: dict[str, str]
    rows: dict[str, dict[str, Value]]  # by digest

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[dict[str, Value]]:
        return iter(self.rows.values())

    @property
    def names(self) -> list[str]:
        """The parameters, in the order in which they were given."""
        return list(self.kinds)

    def table(self, digests: Iterable[str] | None = None) -> pa.Table:
        """The cases of these digests, or all, as Arrow."""
        import pyarrow as pa

        chosen = list(self.rows if digests is None else digests)
        columns = {name: [self.rows[digest][name] for digest in chosen] for name in self.kinds}
        return pa.table({CASE: chosen, **columns}, schema=schema(self.kinds))


def schema(kinds: Mapping[str, str]) -> pa.Schema:
    """The columns of cases as Arrow."""
    import pyarrow as pa

    types = {"truth": pa.bool_(), "whole": pa.int64(), "number": pa.float64(), "text": pa.string()}
    fields = [pa.field(name, types[kind], nullable=False) for name, kind in kinds.items()]
    return pa.schema([pa.field(CASE, pa.string(), nullable=False), *fields])


def grid(**parameters: Value | Iterable[Value]) -> list[dict[str, Value]]:
    """Every combination: `grid(policy=["mtep", "fifo"], rate=range(1, 6), weight=0.4)` has ten cases."""
    choices = {name: options(name, given) for name, given in parameters.items()}
    return [dict(zip(choices, values, strict=True)) for values in itertools.product(*choices.values())]


def options(name: str, given: Value | Iterable[Value]) -> list[Value]:
    """The values of one parameter: one, or as many as are given."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        return [given]
    values = list(given)
    if not values:
        raise InvalidInput(name, values, "at least one value")
    return values


def made(given: Any) -> Cases:
    """Cases of mappings, or of a table of pandas, Arrow or Spark; the same case twice is one case."""
    rows = list(mappings(given))
    if not rows:
        raise InvalidInput("cases", "none", "at least one case")
    if not all(isinstance(row, Mapping) for row in rows):
        raise InvalidInput("cases", given, "a table, or a mapping of parameters for each case")
    names = checked_names(rows)
    columns = {name: column(name, [row[name] for row in rows]) for name in names}
    kinds = {name: KINDS[type(values[0])] for name, values in columns.items()}
    plain = [dict(zip(names, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    return Cases(kinds, {digest(row): row for row in plain})


def mappings(given: Any) -> Iterable[Any]:
    """The rows of whatever holds cases."""
    import pyarrow as pa

    if hasattr(given, "toArrow"):  # Spark
        given = given.toArrow()
    elif hasattr(given, "to_dict") and hasattr(given, "columns"):  # pandas
        given = pa.Table.from_pandas(given, preserve_index=False)
    if isinstance(given, pa.Table):
        rows: list[Any] = given.to_pylist()
        return rows
    if isinstance(given, Cases):
        return given
    if isinstance(given, Mapping | str) or not isinstance(given, Iterable):
        raise InvalidInput("cases", given, "a table, or a mapping of parameters for each case")
    return given


def checked_names(rows: list[Mapping[str, Any]]) -> list[str]:
    """The parameters, which every case has."""
    names = list(rows[0])
    for n, row in enumerate(rows):
        if set(row) != set(names):
            missing = sorted(map(str, set(row) ^ set(names)))[0]
            raise InvalidInput(
                f"cases[{n}]", dict(row), f"the same parameters in every case; look at {missing}"
            )
    if not names:
        raise InvalidInput("cases[0]", {}, "at least one parameter")
    for name in names:
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise InvalidInput("parameter", name, "a name of letters, digits and _")
        if name in RESERVED or name in SUMMARY_COLUMNS:
            raise InvalidInput("parameter", name, f"another name: {name} is a column of every sweep")
    return names


def column(name: str, values: list[Any]) -> list[Value]:
    """The values of one parameter, of one type; whole numbers among others become floats."""
    values = [value.item() if hasattr(value, "item") else value for value in values]  # of NumPy
    for n, value in enumerate(values):
        if type(value) not in KINDS:
            raise InvalidInput(f"cases[{n}].{name}", value, "a number, a text, true or false")
        if isinstance(value, float) and not math.isfinite(value):
            raise InvalidInput(f"cases[{n}].{name}", value, "a finite number")
        if isinstance(value, int) and not WHOLE_MIN <= value <= WHOLE_MAX:
            raise InvalidInput(f"cases[{n}].{name}", value, "a whole number of 64 bits")
        if isinstance(value, str) and not is_unicode(value):
            raise InvalidInput(f"cases[{n}].{name}", ascii(value), "a text in Unicode")
    types = {type(value) for value in values}
    if types == {int, float}:
        return [exactly_float(f"cases[{n}].{name}", value) for n, value in enumerate(values)]
    if len(types) > 1:
        n = next(n for n, value in enumerate(values) if type(value) is not type(values[0]))
        raise InvalidInput(f"cases[{n}].{name}", values[n], f"the same type as {values[0]!r}")
    return values


def is_unicode(text: str) -> bool:
    """Whether a text can be written to a file; one from a shell in another encoding cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def exactly_float(field: str, value: int | float) -> float:
    """A whole number among floats."""
    if float(value) != value:
        raise InvalidInput(field, value, "a number that a float holds exactly")
    return float(value)


def digest(case: Mapping[str, Value]) -> str:
    """The name of a case: the same for the same values, whatever the order, and for 1 and 1.0."""
    plain = {
        name: int(value) if isinstance(value, float) and value.is_integer() else value
        for name, value in case.items()
    }
    text = json.dumps(plain, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]
