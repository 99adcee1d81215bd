"""Rows for the tests of the log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from giusto import _core
from giusto.retain import columns


def rows(payloads: Sequence[bytes], topic: str = "a", **attributes: Any) -> pa.RecordBatch:
    block = columns.attributes_block(attributes)
    return batch([(topic, block, payload) for payload in payloads])


def batch(several: Sequence[tuple[str, bytes, bytes]]) -> pa.RecordBatch:
    filled = [
        {
            "topic": topic,
            "publisher": "p",
            "sequence": number,
            "priority": 0,
            "t_intended_ns": 1,
            "t_sent_ns": 2,
            "t_received_ns": 3_000,
            "attributes": block,
            "payload": payload,
        }
        for number, (topic, block, payload) in enumerate(several)
    ]
    return pa.RecordBatch.from_pylist(filled, columns.kept())


def attributes(**values: Any) -> bytes:
    return _core.encode_attributes(values)
