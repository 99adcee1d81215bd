"""TEMPORARY stand-in until giusto.pipeline.tables.histogram is there."""

from __future__ import annotations


def bucket_of(value: int) -> int:
    value = max(0, value)
    shift = max(0, value.bit_length() - 1 - 6)
    return shift * 64 + (value >> shift)


def lower_of(bucket: int) -> int:
    shift = max(0, bucket // 64 - 1)
    return (bucket - shift * 64) << shift


def upper_of(bucket: int) -> int:
    return lower_of(bucket) + (1 << max(0, bucket // 64 - 1)) - 1


def midpoint_of(bucket: int) -> int:
    return (lower_of(bucket) + upper_of(bucket)) // 2
