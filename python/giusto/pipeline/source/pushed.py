"""Which of Spark's conditions are answered where the log is: ranges of positions, and one topic."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    LessThan,
    LessThanOrEqual,
)

from giusto import _core
from giusto.errors import InvalidInput


@dataclass(frozen=True)
class Span:
    """Positions from `start` up to `end`, of one topic if one was named."""

    start: int = 0
    end: int | None = None
    topic: str | None = None


def taken(condition: Filter, span: Span, pattern: str) -> Span | None:
    """The span with one condition more; none if Spark has to look at it itself."""
    column, value = getattr(condition, "attribute", None), getattr(condition, "value", None)
    if column == ("position",) and isinstance(value, int):
        return _of_position(condition, value, span)
    if column == ("topic",) and isinstance(condition, EqualTo) and _is_covered(pattern, value):
        return replace(span, topic=str(value)) if span.topic in (None, value) else None
    return None


def _of_position(condition: Filter, value: int, span: Span) -> Span | None:
    match condition:
        case EqualTo():
            return _narrowed(span, value, value + 1)
        case GreaterThan():
            return _narrowed(span, value + 1, None)
        case GreaterThanOrEqual():
            return _narrowed(span, value, None)
        case LessThan():
            return _narrowed(span, 0, value)
        case LessThanOrEqual():
            return _narrowed(span, 0, value + 1)
    return None


def _narrowed(span: Span, start: int, end: int | None) -> Span:
    ends = [one for one in (span.end, end) if one is not None]
    return replace(span, start=max(span.start, start), end=max(0, min(ends)) if ends else None)


def _is_covered(pattern: str, topic: object) -> bool:
    """Whether a text is the name of a topic that is read anyway."""
    try:
        return isinstance(topic, str) and _core.topic_matches(pattern, topic)
    except InvalidInput:
        return False
