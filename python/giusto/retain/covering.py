"""Whether one pattern covers every topic that another does."""

from __future__ import annotations

RESERVED = ("_", "$")


def covers(wide: str, narrow: str) -> bool:
    """Whether all topics of `narrow` are topics of `wide`; both are valid patterns."""
    if wide[0] in "+#" and narrow[0] in RESERVED:
        return False
    # A topic has one level at least.
    return _covers(wide.split("/"), ("+/#" if narrow == "#" else narrow).split("/"))


def _covers(wide: list[str], narrow: list[str]) -> bool:
    if wide == ["#"]:
        return True
    if not wide or not narrow:
        return wide == narrow
    if narrow[0] == "#":
        # It also covers the level above, and any depth below: only `#` does that.
        return False
    if wide[0] not in ("+", narrow[0]):
        return False
    return _covers(wide[1:], narrow[1:])
