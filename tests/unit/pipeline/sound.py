"""A record that nothing is wrong with, and the columns that a file of them has."""

from __future__ import annotations

import pyarrow as pa
from tests.spark.records import ARROW

from giusto.pipeline.tables.files import COLUMNS

SCHEMA = pa.schema([(name, ARROW[kind]) for name, kind in COLUMNS.items()])
SOUND = {
    **dict.fromkeys(COLUMNS),
    "run": "r",
    "hop": 0,
    "sequence": 1,
    "size_bytes": 9,
    "priority": 0,
    "clock_error_ns": 0,
    "outcome": "delivered",
    "t_sent_ns": 100,
    "t_ingress_ns": 200,
}
