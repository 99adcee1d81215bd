"""Which gold tables there are, in the order in which they are made."""

from __future__ import annotations

from giusto.errors import InvalidInput
from giusto.pipeline.tables.gold import (
    arrival_envelope,
    contract_audit,
    earnings,
    link_model,
    losses,
    quantum,
    shares,
    topic_latency,
    violations,
)
from giusto.pipeline.tables.table import Table

TABLES: tuple[Table, ...] = (
    topic_latency.TABLE,
    contract_audit.TABLE,
    violations.TABLE,
    earnings.TABLE,
    losses.TABLE,
    shares.TABLE,
    link_model.TABLE,
    arrival_envelope.TABLE,
    quantum.TABLE,
)


def table(name: str) -> Table:
    """The table of this name."""
    for each in TABLES:
        if each.name == name:
            return each
    raise InvalidInput("table", name, f"one of {', '.join(each.name for each in TABLES)}")
