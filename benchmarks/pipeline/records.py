"""Which records are measured with: those of a busy broker, some millions, the same for the same seed.

64 topics with one to three publishers and one to six subscriptions each, 100,000 records in a second. One
processor serves the messages in order of arrival, so that some wait. Half of the subscriptions have a bound,
which a few messages exceed; some messages are policed or expire. One subscriber keeps records too, or more of
them if told, and one record in twelve is of a link to another broker.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from giusto import record
from giusto.pipeline.tables.files import RECORDS, TRACE_KEY

Whole = NDArray[np.int64]

RUN, NODE, LINK = "0123456789abcdef", "hub", "hub->edge"
TOPICS, PUBLISHERS_MAX, SUBSCRIPTIONS_MAX = 64, 3, 6
FILE_ROWS = 1_000_000
RATE_HZ = 100_000
SEQUENCES = 1 << 20
"""Sequence numbers of one flow in one file."""
WALL_OFFSET_NS = 1_790_000_000_000_000_000
CLIENTS = 40
"""Subscribers; the first of them keep records."""
LINKED = 1 / 3
"""Messages that go on to another broker."""
STALLS, STALL_NS = 1 / 50_000, 5_000_000
"""Messages that hold up the processor, and for how long: what comes behind is late."""
NONE = -1


@dataclass(frozen=True, slots=True)
class Ward:
    """Who publishes and who subscribes: arrays by flow, by topic and by subscription."""

    flow_topic: Whole
    flow_min_sep: Whole
    flow_size: Whole
    first: Whole
    fan_out: Whole
    client: Whole
    bound: Whole
    deadline: Whole
    price: NDArray[np.float64]
    delay: NDArray[np.float64]

    @classmethod
    def drawn(cls, seed: int) -> Ward:
        """One of the many."""
        rng = np.random.default_rng([seed, 0])
        flow_topic = np.repeat(np.arange(TOPICS), rng.integers(1, PUBLISHERS_MAX + 1, TOPICS))
        fan_out = rng.integers(1, SUBSCRIPTIONS_MAX + 1, TOPICS)
        count = int(fan_out.sum())
        has_bound = rng.random(count) < 0.5
        bound = np.where(has_bound, rng.choice([1_200_000, 4_000_000, 8_000_000], count), NONE)
        return cls(
            flow_topic=flow_topic,
            flow_min_sep=np.where(rng.random(len(flow_topic)) < 0.5, 100_000, NONE),
            flow_size=rng.choice([64, 200, 1_000, 4_000], len(flow_topic)),
            first=np.concatenate([[0], np.cumsum(fan_out)[:-1]]),
            fan_out=fan_out,
            client=rng.permutation(count) % CLIENTS,
            bound=bound,
            deadline=np.where(rng.random(count) < 0.4, 3_000_000, NONE),
            price=np.where(rng.random(count) < 0.4, rng.choice([0.5, 1.0, 2.5], count), np.nan),
            delay=rng.uniform(100_000, 400_000, TOPICS),
        )


@dataclass(frozen=True)
class Part:
    """The rows of one file: a stretch of time of its own. Of so many of them there is a copy.

    So many subscribers are traced: they keep records.
    """

    ward: Ward
    seed: int
    number: int
    rows: int
    twice: int = 0
    traced: int = 1

    @cached_property
    def columns(self) -> dict[str, Any]:
        """All columns as NumPy arrays; NONE or not a number is missing."""
        rng = np.random.default_rng([self.seed, 1 + self.number])
        sent = self.messages(rng)
        found = {name: np.concatenate(parts) for name, parts in self.kinds(rng, sent).items()}
        order = np.argsort(found["t_ingress_ns"], kind="stable")[: self.rows - self.twice]
        again = rng.integers(0, len(order), self.twice)
        order = order[np.sort(np.concatenate([np.arange(len(order)), again]))]
        return {name: values[order] for name, values in found.items()}

    def messages(self, rng: np.random.Generator) -> dict[str, Any]:
        """One entry for each message, in order of arrival; the processor serves one after the other."""
        ward = self.ward
        seen_twice = 0.01 + (self.traced - 1) / CLIENTS
        per_message = float(ward.fan_out[ward.flow_topic].mean()) * (1 + seen_twice) + LINKED
        count = int(self.rows / per_message * 1.08) + 20
        since = self.number * self.rows * 1_000_000_000 // RATE_HZ + 1_000_000_000
        gaps = rng.exponential(per_message * 1e9 / RATE_HZ, count)
        sent = since + np.cumsum(gaps).astype(np.int64)
        flow = rng.integers(0, len(ward.flow_topic), count)
        topic = ward.flow_topic[flow]
        ingress = sent + (ward.delay[topic] * rng.lognormal(0.0, 0.4, count)).astype(np.int64)
        order = np.argsort(ingress, kind="stable")
        sent, flow, topic, ingress = sent[order], flow[order], topic[order], ingress[order]
        size = ward.flow_size[flow] + rng.integers(0, 64, count)
        service = 8_000 + 2_000 * ward.fan_out[topic] + size + rng.exponential(4_000, count).astype(np.int64)
        service += np.where(rng.random(count) < STALLS, STALL_NS, 0)
        done = np.cumsum(service)
        selected = np.maximum.accumulate(ingress - (done - service)) + (done - service)
        chance = rng.random(count)
        outcome = np.select([chance < 0.002, chance < 0.004], [3, 2], 0)
        return {
            "flow": flow,
            "topic": topic,
            "sequence": numbered(flow) + self.number * SEQUENCES,
            "size_bytes": size,
            "t_sent_ns": sent,
            "t_ingress_ns": ingress,
            "t_selected_ns": np.where(outcome == 3, NONE, selected),
            "outcome": outcome,
            "min_sep_ns": ward.flow_min_sep[flow],
        }

    def kinds(self, rng: np.random.Generator, sent: dict[str, Any]) -> dict[str, list[Any]]:
        """Rows of deliveries, of losses before matching, of a subscriber, of a link."""
        matched = np.flatnonzero(sent["outcome"] != 3)
        deliveries = self.deliveries(rng, {name: values[matched] for name, values in sent.items()})
        policed = np.flatnonzero(sent["outcome"] == 3)
        lost = unmatched({name: values[policed] for name, values in sent.items()}, hop=0, node=0)
        is_traced = (deliveries["subscriber"] < self.traced) & (deliveries["outcome"] < 2)
        at_end = self.at_subscriber(rng, {name: values[is_traced] for name, values in deliveries.items()})
        on = np.flatnonzero((sent["outcome"] == 0) & (rng.random(len(sent["flow"])) < LINKED))
        linked = unmatched({name: values[on] for name, values in sent.items()}, hop=0, node=1)
        linked["t_egress_ns"] = linked["t_selected_ns"] + rng.integers(500, 20_000, len(on))
        per_kb = np.maximum(rng.normal(900_000, 90_000, len(on)), 1.0)
        took = (per_kb * linked["size_bytes"] / 1024).astype(np.int64)
        linked["t_received_ns"] = linked["t_egress_ns"] + took
        return {name: [part[name] for part in (deliveries, lost, at_end, linked)] for name in deliveries}

    def deliveries(self, rng: np.random.Generator, sent: dict[str, Any]) -> dict[str, Any]:
        """One row for each subscription of each message."""
        ward = self.ward
        fan_out = ward.fan_out[sent["topic"]]
        row = np.repeat(np.arange(len(fan_out)), fan_out)
        nth = np.arange(len(row)) - np.repeat(np.cumsum(fan_out) - fan_out, fan_out)
        subscription = np.repeat(ward.first[sent["topic"]], fan_out) + nth
        found = {name: values[row] for name, values in sent.items()}
        took = 3_000 * (nth + 1) + rng.lognormal(10.0, 1.0, len(row)).astype(np.int64)
        egress = found["t_selected_ns"] + took
        deadline = ward.deadline[subscription]
        came = found["outcome"] == 0
        is_late = came & (deadline != NONE) & (egress - found["t_sent_ns"] > deadline)
        return {
            **found,
            "hop": np.zeros(len(row), np.int64),
            "node": np.zeros(len(row), np.int64),
            "subscriber": ward.client[subscription],
            "subscription": subscription,
            "t_egress_ns": np.where(came, egress, NONE),
            "t_received_ns": np.full(len(row), NONE),
            "deadline_ns": deadline,
            "bound_ns": ward.bound[subscription],
            "price": ward.price[subscription],
            "outcome": np.where(is_late, 1, found["outcome"]),
        }

    def at_subscriber(self, rng: np.random.Generator, seen: dict[str, Any]) -> dict[str, Any]:
        """What the subscriber says of what it got."""
        count = len(seen["flow"])
        received = seen["t_egress_ns"] + (rng.lognormal(10.5, 0.5, count)).astype(np.int64)
        nothing = np.full(count, NONE)
        return {
            **seen,
            "hop": np.ones(count, np.int64),
            "node": 2 + seen["subscriber"],
            "t_ingress_ns": received,
            "t_selected_ns": nothing,
            "t_egress_ns": nothing,
            "t_received_ns": received,
            "outcome": np.zeros(count, np.int64),
        }

    def table(self) -> pa.Table:
        """The rows as records."""
        found = self.columns
        count = len(found["flow"])
        clients = [f"client-{n}" for n in range(CLIENTS)]
        flows = [f"device-{n}" for n in range(len(self.ward.flow_topic))]
        columns = {
            "run": named(np.zeros(count, np.int64), [RUN]),
            "node": named(found["node"], [NODE, LINK, *clients]),
            "topic": named(found["topic"], [f"ward/{n % 8}/bed/{n // 8}/vitals" for n in range(TOPICS)]),
            "publisher": named(found["flow"], flows),
            "subscriber": named(found["subscriber"], clients),
            "outcome": named(found["outcome"], [each.value for each in record.Outcome]),
            "priority": np.zeros(count, np.int8),
            "t_intended_ns": found["t_sent_ns"],
            "clock_error_ns": np.where(found["node"] >= 2, 20_000, 0),
            "price": pa.array(found["price"], from_pandas=True),
            "penalty": pa.array(found["price"] / 10, from_pandas=True),
        }
        schema = record.schema()
        for field in schema:
            if field.name not in columns:
                values = found[field.name]
                columns[field.name] = pa.array(values, pa.int64(), mask=values == NONE).cast(field.type)
        return pa.table([pa.array(columns[field.name]).cast(field.type) for field in schema], schema)


def unmatched(sent: dict[str, Any], *, hop: int, node: int) -> dict[str, Any]:
    """Rows that are of no subscription."""
    count = len(sent["flow"])
    nothing = np.full(count, NONE)
    return {
        **sent,
        "hop": np.full(count, hop),
        "node": np.full(count, node),
        **dict.fromkeys(("subscriber", "subscription", "t_egress_ns", "t_received_ns"), nothing),
        **dict.fromkeys(("deadline_ns", "bound_ns"), nothing),
        "price": np.full(count, np.nan),
    }


def numbered(flow: Whole) -> Whole:
    """0, 1, 2, … for the messages of each flow."""
    order = np.argsort(flow, kind="stable")
    of_flow = np.bincount(flow)
    found = np.empty(len(flow), np.int64)
    found[order] = np.arange(len(flow)) - np.repeat(np.cumsum(of_flow) - of_flow, of_flow)
    return found


def named(numbers: Whole, names: list[str]) -> pa.DictionaryArray:
    """Names by number; NONE has none."""
    return pa.DictionaryArray.from_arrays(
        pa.array(numbers.astype(np.int32), pa.int32(), mask=numbers == NONE), pa.array(names)
    )


def write(
    folder: Path, rows: int, *, file_rows: int = FILE_ROWS, seed: int = 1, twice: int = 0, traced: int = 1
) -> list[Path]:
    """A trace folder of so many records; the first files are those of a smaller one."""
    ward = Ward.drawn(seed)
    records = folder / RECORDS
    records.mkdir(parents=True, exist_ok=True)
    found = []
    for number, start in enumerate(range(0, rows, file_rows)):
        table = Part(ward, seed, number, min(file_rows, rows - start), twice, traced).table()
        said = {"run": RUN, "node": NODE, "sequence": number, "wall_offset_ns": WALL_OFFSET_NS}
        metadata = {**(table.schema.metadata or {}), TRACE_KEY: json.dumps(said).encode()}
        found.append(records / f"{NODE}-{RUN[:8]}-{number:08}.parquet")
        pq.write_table(table.replace_schema_metadata(metadata), found[-1])
    return found
