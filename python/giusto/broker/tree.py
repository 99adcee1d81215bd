"""Which topics a pattern covers, without looking at all of them.

Topics hang in a tree by their levels. A pattern walks down: a name to one branch, `+` to all branches of a
level, `#` to everything below, the level itself included. In the first place wildcards pass over what begins
with `_` or `$`, as the matcher of the core does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(slots=True)
class _Branch:
    topic: str | None = None
    below: dict[str, _Branch] = field(default_factory=dict)


WILD = ("+", "#")
RESERVED = ("_", "$")


class TopicTree:
    """The names of all topics."""

    def __init__(self) -> None:
        self._root = _Branch()

    def add(self, topic: str) -> None:
        branch = self._root
        for level in topic.split("/"):
            branch = branch.below.setdefault(level, _Branch())
        branch.topic = topic

    def remove(self, topic: str) -> None:
        """Take a topic out, with the branches that led to it alone."""
        path = [self._root]
        for level in topic.split("/"):
            path.append(path[-1].below[level])
        path[-1].topic = None
        for level, parent in zip(reversed(topic.split("/")), reversed(path[:-1]), strict=True):
            branch = parent.below[level]
            if branch.topic is not None or branch.below:
                return
            del parent.below[level]

    @property
    def _open(self) -> _Branch:
        """What a wildcard in the first place may cover."""
        below = self._root.below
        return _Branch(below={level: below[level] for level in below if level[0] not in RESERVED})

    def covered(self, pattern: str) -> list[str]:
        """The topics that a valid pattern covers."""
        branches = [self._root if pattern[0] not in WILD else self._open]
        for level in pattern.split("/"):
            if level == "#":
                return [topic for branch in branches for topic in _all(branch)]
            if level == "+":
                branches = [below for branch in branches for below in branch.below.values()]
            else:
                branches = [branch.below[level] for branch in branches if level in branch.below]
        return [branch.topic for branch in branches if branch.topic is not None]


def _all(branch: _Branch) -> Iterator[str]:
    if branch.topic is not None:
        yield branch.topic
    for below in branch.below.values():
        yield from _all(below)
