"""Whether any control frame is understood or refused, and harms nobody: a search for one that is not so.

usage: control.py [--runs N | --seconds N] [--seed N] [--keep FOLDER] [--also FOLDER]
"""

from __future__ import annotations

import argparse
import hashlib
import random
import re
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import guided
import msgspec
from world import World, consequences

import giusto
from giusto import protocol
from giusto.errors import ProtocolError

HERE = Path(__file__).parent
CORPUS = HERE / "corpus" / "control"
BROKEN = HERE / "broken"
PACKAGE = str(Path(giusto.__file__).parent)

# Values at the edges of what fields may hold, and the names of all fields.
NUMBERS: list[Any] = [0, 1, -1, 2**31, 2**63 - 1, -(2**63), 2**64 - 1, 0.0, -1.5, float("inf"), float("nan")]
TEXTS: list[Any] = ["", "a", "#", "a/+/b", "\0", "é" * 200, b"", b"\xff"]
EDGES: list[Any] = [None, True, False, *NUMBERS, *TEXTS, [], [[]], {}, {"a": 1}]
STRUCTS = [kind for kind in vars(protocol).values() if isinstance(kind, msgspec.StructMeta)]
WORDS = sorted({name for kind in STRUCTS for name in kind.__struct_fields__})


def check(world: World, body: bytes) -> list[tuple[str, str]]:
    """Decode `body`, and let a control plane handle it; returns what came of it, without its numbers."""
    found = [
        ("request", read(protocol.decode_request, body)),
        ("reply", read(protocol.decode_reply, body)),
    ]
    return [*found, *(("told", outline(told)) for told in consequences(world, body))]


def read(decode: Any, body: bytes) -> str:
    """What `decode` makes of it. What it understands must mean the same when written again."""
    try:
        message = decode(body)
    except ProtocolError as refusal:
        return without_values(refusal.problem)
    again = decode(protocol.encode(message))
    assert repr(again) == repr(message), f"{again} is not {message}"
    return type(message).__name__


def outline(told: object) -> str:
    """The kind of an answer or notice; for a failure also what it complains of."""
    if isinstance(told, protocol.Failed):
        return without_values(f"{told.error} {told.args[0]}")
    return type(told).__name__


def without_values(text: str) -> str:
    """A message without what differs from input to input."""
    return re.sub(r"'.*'|got `\w+`|\d+", "…", text, flags=re.DOTALL)


def change(chance: random.Random, body: bytes, other: bytes) -> bytes:
    """A changed body: mostly another map, sometimes other bytes."""
    if chance.random() < 0.3:
        return guided.change_bytes(chance, body, other)
    try:
        tree, others = msgspec.msgpack.decode(body), msgspec.msgpack.decode(other)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError, ValueError):
        return guided.change_bytes(chance, body, other)
    spare = [*EDGES, *values(others)]
    for _ in range(chance.randint(1, 3)):
        tree = replace(chance, tree, spare)
    return msgspec.msgpack.encode(tree)


def values(tree: Any) -> Iterator[Any]:
    """Everything inside a decoded body."""
    yield tree
    inside = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ()
    for value in inside:
        yield from values(value)


def replace(chance: random.Random, tree: Any, spare: list[Any]) -> Any:
    """The tree with one place changed: another value, another name, one entry more or less."""
    if not isinstance(tree, dict) or not tree or chance.random() < 0.1:
        return chance.choice(spare)
    changed = dict(tree)
    key = chance.choice(list(changed))
    kind = chance.randrange(5)
    if kind == 0:
        changed[key] = chance.choice(spare)
    elif kind == 1:
        del changed[key]
    elif kind == 2:
        changed[chance.choice(WORDS)] = chance.choice(spare)
    else:
        changed[key] = replace(chance, changed[key], spare)
    return changed


def inputs(folder: Path) -> list[bytes]:
    """The inputs of a folder, short ones first, in an order that does not depend on the file system."""
    return sorted((path.read_bytes() for path in folder.iterdir()), key=lambda data: (len(data), data))


def save(folder: Path, data: bytes) -> Path:
    """Keep an input under the name of its content."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / hashlib.sha1(data).hexdigest()
    path.write_bytes(data)
    return path


def run(search: guided.Search, options: argparse.Namespace) -> Iterator[bytes]:
    """Search until the runs or the seconds are used up; yields what reached something new."""
    end = time.monotonic() + options.seconds if options.seconds else None
    for data in inputs(options.also) if options.also else ():
        if search.offer(data) is not None:
            yield data
    while search.runs < options.runs if end is None else time.monotonic() < end:
        found = search.step()
        if found is not None:
            yield found


def main() -> int:
    """Search, and say what was reached; 1 if a promise was broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20_000)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--also", type=Path)
    options = parser.parse_args()
    search = guided.Search(World, check, (PACKAGE,), change, random.Random(options.seed))
    try:
        search.take_in(inputs(CORPUS))
        first = len(search.features)
        for data in run(search, options):
            if options.keep is not None:
                save(options.keep, data)
    except guided.Broken as broken:
        traceback.print_exception(broken.__cause__)
        print(f"control: an input broke a promise: {save(BROKEN, broken.data)}", file=sys.stderr)
        return 1
    reached = f"features reached: {first} by the corpus, {len(search.features)} in the end"
    print(f"  {'control':12} {search.runs:9} inputs, {reached}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
