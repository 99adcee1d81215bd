"""What the policies with cells have in common: weights, cells, and one lane for each flow."""

from __future__ import annotations

from giusto.errors import InvalidInput
from giusto.guarantee.fixed import parts
from giusto.guarantee.model import Setting
from giusto.guarantee.record import Record
from giusto.guarantee.shelf import Lane
from giusto.guarantee.stream import Stream
from giusto.guarantee.wrr import WEIGHT_MAX

SPAN = 24
"""How many messages after the burst are looked at one by one: all of them for weights up to this."""


def weight_of(record: Record) -> int:
    """As in the core, 1 if nothing is said."""
    weight = record.allotted.share.weight if record.allotted else None
    return 1 if weight is None else weight


def check_weight(record: Record) -> None:
    """As in the core."""
    weight = weight_of(record)
    if not isinstance(weight, int) or not 1 <= weight <= WEIGHT_MAX:
        raise InvalidInput("share.weight", weight, f"a whole number from 1 to {WEIGHT_MAX}")


def cell_ns(record: Record) -> int:
    """C_m: one quantum of each client."""
    return sum(stream.quantum_ns for stream in record.streams.values())


def lumps_ns(record: Record) -> int:
    """What messages of several quanta add to that, once."""
    return sum(stream.lump_ns for stream in record.streams.values())


def flow_lane(weight: int, promise_ns: int, stream: Stream, setting: Setting) -> Lane:
    """The lane of one flow. (T4): a whole cycle later everything is at most as much later as the arrivals."""
    supply, first = stream.supply, stream.first
    return Lane(
        supply.client,
        supply.topic,
        first,
        first + min(weight, SPAN),
        weight > SPAN or setting.budget_ns > 0,
        parts(supply.count, supply.period_ns),
        promise_ns - stream.links_ns,
        stream.arrival_ns,
    )
