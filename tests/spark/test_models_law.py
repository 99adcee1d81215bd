"""Parts of the tables that become models add up, on random records; the envelope is that of all windows."""

from __future__ import annotations

import random
from collections import defaultdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import records
from records import seen

from giusto.pipeline.tables import bronze, envelope
from giusto.pipeline.tables.gold import arrival_envelope, link_model, quantum, shares
from giusto.pipeline.tables.table import SLICE_NS, Inputs, Table, slice_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MS = 1_000_000
TABLES = (shares.TABLE, link_model.TABLE, arrival_envelope.TABLE, quantum.TABLE)
FLOWS = 12


def messages(draw: random.Random) -> list[dict[str, Any]]:
    """A node that is busy over four slices: messages of some flows, of which some go on over a link."""
    rows = []
    for flow in range(FLOWS):
        offer = draw.choice([None, MS, 100 * MS])
        at_ns = draw.randrange(SLICE_NS)
        for sequence in range(draw.randint(1, 24)):
            at_ns += draw.choice([0, 1, draw.randrange(MS), draw.randrange(2 * SLICE_NS)])
            given = {
                "publisher": f"p{flow}",
                "topic": f"t{flow % 3}",
                "sequence": sequence,
                "min_sep_ns": offer,
            }
            given["size_bytes"] = draw.choice([0, 1, draw.randrange(2**20)])
            chosen_ns = at_ns + draw.randrange(2 * SLICE_NS)
            went_ns = chosen_ns + draw.randrange(MS)
            of_one = partial(seen, at_ns, ingress=at_ns, selected=chosen_ns, egress=went_ns, **given)
            rows += [of_one(subscriber=f"s{n}") for n in range(draw.randint(1, 3))]
            took_ns = draw.randrange(1, MS)
            rows.append(of_one(subscriber=None, node="hub->leaf", received=went_ns + took_ns))
    return rows


def same(left: DataFrame, right: DataFrame) -> None:
    """Equal rows, up to the last digits of floating point."""
    ours, theirs = (sorted((row.asDict() for row in each.collect()), key=identity) for each in (left, right))
    assert [identity(row) for row in ours] == [identity(row) for row in theirs]
    for one, other in zip(ours, theirs, strict=True):
        for name, value in one.items():
            if isinstance(value, float):
                # Cubes of distances cancel: what counts is their size beside that of the squares.
                size = max(abs(row.get("m2") or 0.0) for row in (one, other))
                assert value == pytest.approx(other[name], rel=1e-6, abs=max(1e-9, 1e-9 * size**2)), name


def identity(row: dict[str, Any]) -> str:
    """All of a row that is exact."""
    return repr({name: value for name, value in row.items() if not isinstance(value, float)})


def inputs(rows: DataFrame, facts: DataFrame | None = None) -> Inputs:
    """Records of which each is there once, and stands for a delivery or for a copy on a link."""
    return Inputs(rows.filter("subscriber is not null"), rows, facts)


def facts_of(spark: SparkSession, folder: Path, draw: random.Random) -> DataFrame | None:
    """Facts of two times: what flows were allotted, and bursts that they had offered.

    Each offer is beside one of both separations, so it is that of some of the flows.
    """
    said = []
    for at_ns, part in ((0, 0.25), (2 * SLICE_NS, 0.75)):
        clients: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for flow in range(0, FLOWS, 1 if at_ns == 0 else 2):
            offer = {"min_sep_ns": draw.choice([MS, 100 * MS]), "burst": draw.randint(1, 9), "jitter_ns": 3}
            shares = {"share": part, "flow_share": part / 2}
            clients[f"t{flow % 3}"].append({"client": f"p{flow}", **shares, **offer})
        topics = [
            {"topic": topic, "guarded": topic == "t0", "share": 0.5, "quanta_share": part, "clients": each}
            for topic, each in clients.items()
        ]
        said.append({"at_ns": at_ns, "fragment_bytes": 70_000, "topics": topics})
    records.write_facts(folder, *said)
    return bronze.facts(spark, folder)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_parts_of_whole_slices_add_up(spark: SparkSession, seed: int, table: Table, tmp_path: Path) -> None:
    draw = random.Random(f"{seed} {table.name}")
    rows, cut = records.frame(spark, messages(draw)), draw.randint(1, 4)
    facts = facts_of(spark, tmp_path, draw)
    before, after = (
        table.partial(inputs(rows.filter(each), facts)) for each in (slice_of() < cut, slice_of() >= cut)
    )
    same(table.merge(before.unionByName(after)), table.partial(inputs(rows, facts)))


def test_the_envelope_holds_in_every_window_and_is_reached_in_one(spark: SparkSession, seed: int) -> None:
    rows = messages(random.Random(seed))
    pieces = arrival_envelope.TABLE.partial(inputs(records.frame(spark, rows))).collect()
    sent: dict[tuple[str, str], dict[tuple[int, int], int]] = defaultdict(dict)
    for row in rows:
        sent[row["publisher"], row["topic"]][row["t_sent_ns"], row["sequence"]] = row["size_bytes"]
    assert len(pieces) == FLOWS
    for piece in pieces:
        flow = sorted(sent[piece["publisher"], piece["topic"]].items())
        at_ns, sizes = [at for (at, _), _ in flow], [size for _, size in flow]
        assert (piece["count"], piece["size_bytes"]) == (len(flow), sum(sizes))
        rates = envelope.message_rates(piece["min_sep_ns"])
        assert piece["messages_best"] == all_windows(at_ns, [1] * len(flow), rates)
        assert piece["bytes_best"] == all_windows(at_ns, sizes, envelope.BYTE_RATES)


def all_windows(at_ns: list[int], costs: list[int], rates: envelope.Rates) -> list[int]:
    """The largest excess for each rate, pair by pair."""
    pairs = [(i, j) for i in range(len(at_ns)) for j in range(i, len(at_ns))]
    windows = [(sum(costs[i : j + 1]), at_ns[j] - at_ns[i]) for i, j in pairs]
    numbers = [(int(a), int(b)) for a, b in zip(*rates, strict=True)]
    return [max(a * cost - b * span for cost, span in windows) for a, b in numbers]
