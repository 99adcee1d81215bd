"""Whether a calibration file can be believed: reads it field by field, and says what is wrong with which."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from giusto.errors import InvalidInput
from giusto.guarantee.costs import RECORD_NS, Costs, Line
from giusto.guarantee.fitting import covered_ns
from giusto.guarantee.machine import Machine
from giusto.guarantee.measured import KINDS, Calibration, Point, Stalls, Work

FORMAT = 2
"""Version of the file."""
FILE_BYTES_MAX = 16 << 20
NS_MAX = 10**12
REMEDY = "run `giusto calibrate` to make another"


def calibration_in(path: Path) -> Calibration:
    """The calibration in a file, whatever machine it is of."""
    top = Fields("", document_in(path), path)
    if top.value.get("format") != FORMAT:
        problem = f"a calibration file of format {FORMAT}, not {top.value.get('format', 'without one')}"
        raise InvalidInput("calibration", path, f"{problem}: {REMEDY}")
    stalls, machine = top.inner("stalls"), top.inner("machine")
    found = Calibration(
        date=top.text("date"),
        seconds=top.number("seconds"),
        percentile=top.percentage("percentile"),
        confidence=top.percentage("confidence"),
        samples=top.whole("samples", 1),
        machine=Machine(
            cores=machine.whole("cores", 1),
            **{name: machine.text(name) for name in ("cpu", "kernel", "clock", "version", "source")},
        ),
        points=tuple(point_of(fields) for fields in top.list("points")),
        stalls=Stalls(
            seconds=stalls.number("seconds"),
            samples=stalls.whole("samples", 1),
            **{name: stalls.whole(name) for name in ("p50_ns", "p99_ns", "p99_9_ns", "max_ns", "hits")},
        ),
        costs=costs_of(top.inner("costs")),
    )
    require_covered(top, found)
    return found


def document_in(path: Path) -> Mapping[str, Any]:
    """The object in a JSON file."""
    try:
        with path.open("rb") as file:
            data = file.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        problem = f"a file that can be read ({error.strerror or error}): `giusto calibrate` makes one"
        raise InvalidInput("calibration", path, problem) from None
    try:
        if len(data) > FILE_BYTES_MAX:
            raise ValueError("it is too large")
        found = json.loads(data.decode("utf-8"), parse_constant=refuse_constant)
    except (ValueError, RecursionError) as error:
        problem = f"a calibration file, which is JSON ({error}): {REMEDY}"
        raise InvalidInput("calibration", path, problem) from None
    if not isinstance(found, dict):
        raise InvalidInput("calibration", path, f"a calibration file, which is a JSON object: {REMEDY}")
    return found


def refuse_constant(name: str) -> NoReturn:
    """JSON has no NaN and no infinity."""
    raise ValueError(f"{name} is not a number")


class Fields:
    """An object of the file and where it is, so that a wrong field can be named."""

    def __init__(self, name: str, value: Mapping[str, Any], path: Path) -> None:
        self.name = name
        self.value = value
        self.path = path

    def wrong(self, key: str, expected: str) -> InvalidInput:
        """The error for a field."""
        name = f"{self.name}.{key}" if self.name else key
        shown = self.value.get(key, "missing")
        return InvalidInput(f"calibration {self.path}: {name}", shown, f"{expected}: {REMEDY}")

    def text(self, key: str) -> str:
        """Some text."""
        value = self.value.get(key)
        if not isinstance(value, str) or not value:
            raise self.wrong(key, "a text")
        return value

    def whole(self, key: str, least: int = 0, most: int = NS_MAX) -> int:
        """An integer in a range."""
        value = self.value.get(key)
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise self.wrong(key, f"an integer from {least} to {most}")
        return value

    def number(self, key: str) -> float:
        """A number above 0."""
        value = self.value.get(key)
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value <= NS_MAX:
            raise self.wrong(key, "a number above 0")
        return float(value)

    def percentage(self, key: str) -> float:
        """A percentage as `quantile` takes it."""
        value = self.number(key)
        if not 50 <= value < 100:
            raise self.wrong(key, "a percentage from 50 to below 100")
        return value

    def flag(self, key: str) -> bool:
        """True or false."""
        value = self.value.get(key)
        if not isinstance(value, bool):
            raise self.wrong(key, "true or false")
        return value

    def inner(self, key: str) -> Fields:
        """An object within this one."""
        value = self.value.get(key)
        if not isinstance(value, dict):
            raise self.wrong(key, "an object")
        return Fields(f"{self.name}.{key}" if self.name else key, value, self.path)

    def list(self, key: str) -> list[Fields]:
        """Objects within this one, at least one."""
        value = self.value.get(key)
        if not isinstance(value, list) or not value or not all(isinstance(item, dict) for item in value):
            raise self.wrong(key, "a list of objects")
        return [Fields(f"{key}[{place}]", item, self.path) for place, item in enumerate(value)]


def point_of(fields: Fields) -> Point:
    """One point; its figures must be in order."""
    work = Work(fields.text("kind"), fields.whole("size_bytes"), fields.whole("count"))
    if work.kind not in KINDS:
        raise fields.wrong("kind", f"one of {', '.join(KINDS)}")
    most = fields.whole("max_ns", 1)
    return Point(
        work=work,
        samples=fields.whole("samples", 1),
        median_ns=fields.whole("median_ns", 0, most),
        cost_ns=fields.whole("cost_ns", 1),
        max_ns=most,
        certain=fields.flag("certain"),
    )


def costs_of(fields: Fields) -> Costs:
    """The costs; nothing is for free."""
    return Costs(
        take=line_of(fields.inner("take")),
        step=line_of(fields.inner("step")),
        deliver=line_of(fields.inner("deliver")),
        write=line_of(fields.inner("write")),
        filter_ns=fields.whole("filter_ns", 1),
        frame_ns=fields.whole("frame_ns", 1),
        turn_ns=fields.whole("turn_ns", 1),
        call_ns=fields.whole("call_ns", 1),
        hop_ns=fields.whole("hop_ns", 1),
        stall_ns=fields.whole("stall_ns", 1),
        # Calibrations of before were made without records.
        record_ns=fields.whole("record_ns") if "record_ns" in fields.value else RECORD_NS,
        serve=line_of(fields.inner("serve")),
        serve_each=line_of(fields.inner("serve_each")),
        basis=fields.text("basis"),
    )


def line_of(fields: Fields) -> Line:
    """A straight line that does not fall."""
    return Line(fields.whole("fixed_ns", 1), fields.whole("byte_ps"))


def require_covered(top: Fields, found: Calibration) -> None:
    """Costs below what was measured would make promises that cannot be held."""
    for place, point in enumerate(found.points):
        if covered_ns(found.costs, point.work) < point.cost_ns:
            name = f"calibration {top.path}: costs"
            expected = f"costs that are not below points[{place}] of the same file: {REMEDY}"
            raise InvalidInput(name, f"{covered_ns(found.costs, point.work)} ns", expected)
