"""Whether every promise still holds if the broker's work, or its links, cost more than was thought."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

from giusto.guarantee.book import Book
from giusto.guarantee.costs import Costs, Line
from giusto.guarantee.model import Change, Objection, Setting
from giusto.guarantee.objections import Case
from giusto.guarantee.record import Record
from giusto.guarantee.stream import Stream


class Served(NamedTuple):
    """What messages of a size to so many subscriptions took."""

    size_bytes: int
    fan_out: int
    ns: int


def repriced(book: Book, setting: Setting) -> tuple[Book, Objection | None]:
    """The same promises and flows under another setting, and which of the promises would not hold."""
    other = Book(setting)
    other.swap({name: _record(record, setting) for name, record in book.records.items()}, book.rest)
    other.epoch = book.epoch + 1
    return other, Case(other, Change()).objection()


def _record(record: Record, setting: Setting) -> Record:
    streams = {
        client: Stream.of(stream.supply, setting, record.audience)
        for client, stream in record.streams.items()
    }
    return record.with_streams(streams)


def excess(costs: Costs, measured: Iterable[Served]) -> Fraction:
    """The largest part of its cost that a quantum took: above 1 the costs are too low."""
    return max(
        (Fraction(one.ns, max(1, costs.serve_ns(one.size_bytes, one.fan_out))) for one in measured),
        default=Fraction(0),
    )


def raised(costs: Costs, factor: Fraction) -> Costs:
    """Serving costs so many times as much, and nothing else does."""
    basis = f"{costs.basis}, serving × {float(factor):.2f} as measured"
    if costs.serve is not None and costs.serve_each is not None:
        return replace(
            costs, serve=_times(costs.serve, factor), serve_each=_times(costs.serve_each, factor), basis=basis
        )
    step, deliver, write = (_times(line, factor) for line in (costs.step, costs.deliver, costs.write))
    return replace(costs, step=step, deliver=deliver, write=write, basis=basis)


def _times(line: Line, factor: Fraction) -> Line:
    # A line is rounded up to whole nanoseconds, and that is multiplied too.
    return Line(_up((line.fixed_ns + 1) * factor), _up(line.byte_ps * factor))


def _up(number: Fraction) -> int:
    return -(-number.numerator // number.denominator)
