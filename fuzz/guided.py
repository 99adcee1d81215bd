"""Which inputs are worth changing further: those that reached something new.

A small coverage-guided search. Running an input gives its features: the steps from line to line in the
watched files, and the answers that the target returned. The answers stand for what happens inside compiled
code, where no line can be seen. An input with a new feature joins the pool that later ones are made from.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

Target = Callable[[Any, bytes], Iterable[object]]
Change = Callable[[random.Random, bytes, bytes], bytes]
LONGEST_BYTES = 4096


class Broken(Exception):
    """An input that broke a promise; the failure itself is the cause."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self.data = data


@dataclass
class Search:
    """A pool of inputs and all features that they reached.

    What `prepare` makes is new for each input, is given to `target`, and is not watched while it is made.
    """

    prepare: Callable[[], Any]
    target: Target
    watched: tuple[str, ...]
    change: Change
    random: random.Random
    pool: list[bytes] = field(default_factory=list)
    features: set[object] = field(default_factory=set)
    runs: int = 0

    def take_in(self, inputs: Iterable[bytes]) -> None:
        """Start from these inputs, whether or not they reach something new."""
        for data in inputs:
            self.features |= self.run(data)
            self.pool.append(data)

    def step(self) -> bytes | None:
        """Try one new input; returns it if it reached something new."""
        parent, other = self.random.choice(self.pool), self.random.choice(self.pool)
        return self.offer(self.change(self.random, parent, other)[:LONGEST_BYTES])

    def offer(self, data: bytes) -> bytes | None:
        """Run `data`; it joins the pool, and is returned, if it reached something new."""
        found = self.run(data)
        if found <= self.features:
            return None
        self.features |= found
        self.pool.append(data)
        return data

    def run(self, data: bytes) -> set[object]:
        """The features of one input."""
        self.runs += 1
        steps, prepared = Steps(self.watched), self.prepare()
        sys.settrace(steps.enter)
        try:
            answers = list(self.target(prepared, data))
        except Exception as error:
            raise Broken(data) from error
        finally:
            sys.settrace(None)
        return {*steps.seen, *answers}


class Steps:
    """Pairs of lines that followed each other in one function of a watched file."""

    def __init__(self, watched: tuple[str, ...]) -> None:
        self.watched = watched
        self.seen: set[tuple[str, int, int]] = set()

    def enter(self, frame: FrameType, event: str, value: Any) -> Any:
        """The tracer of a function that was called, if its file is watched."""
        name = frame.f_code.co_filename
        if not name.startswith(self.watched):
            return None
        before = frame.f_lineno

        def follow(frame: FrameType, event: str, value: Any) -> Any:
            nonlocal before
            self.seen.add((name, before, frame.f_lineno))
            before = frame.f_lineno
            return follow

        return follow


def change_bytes(chance: random.Random, data: bytes, other: bytes) -> bytes:
    """One to four small changes: other bytes, more, fewer, or the end of another input."""
    changed = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        at, count = chance.randint(0, len(changed)), chance.randint(1, 4)
        new = bytes(chance.choice((0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256))) for _ in range(count))
        kind = chance.randrange(4)
        if kind == 0:
            changed[at : at + count] = new
        elif kind == 1:
            changed[at:at] = new
        elif kind == 2:
            del changed[at : at + count]
        else:
            changed[at:] = other[chance.randint(0, len(other)) :]
    return bytes(changed)
