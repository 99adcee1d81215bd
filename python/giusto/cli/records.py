"""`giusto records`: says what a trace holds, and what it does not."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from giusto.cli.exits import guarded
from giusto.cli.options import Json

if TYPE_CHECKING:
    from giusto.trace.summary import Summary

EXAMPLES = """\b
Examples:
  giusto records trace
  giusto records records.parquet
  giusto records trace --json | jq .dropped"""


@guarded
def records(
    path: Annotated[
        Path,
        typer.Argument(
            metavar="PATH", help="A trace folder, a folder of files, or a file.", show_default=False
        ),
    ],
    json_output: Json = False,
) -> None:
    """Say how many records a trace holds, by outcome, over which time, and what is not in it and why.

    The exit code is 1 if a file could not be read.
    """
    from giusto.trace.summary import summarise

    found = summarise(path)
    if json_output:
        print(json.dumps(found.to_dict(), indent=2, ensure_ascii=False))
    else:
        print("\n".join(told(found)))
    if found.unread:
        raise typer.Exit(1)


def told(found: Summary) -> Iterator[str]:
    """Line by line."""
    from giusto.contract.duration import show_ns

    files = f"{found.files:,} file{'' if found.files == 1 else 's'}"
    yield f"{found.records:,} records in {files}, {found.bytes:,} bytes"
    if found.first_ns is not None and found.last_ns is not None:
        yield f"span      {show_ns(found.last_ns - found.first_ns)}"
    yield from _line("outcomes", found.outcomes)
    yield from _line("dropped", found.dropped)
    yield from _line("removed", found.removed)
    for label, names in (("runs", found.runs), ("nodes", found.nodes), ("not ended", found.writing)):
        if names:
            yield f"{label:<9} {', '.join(names)}"
    for path, reason in found.unread:
        yield f"unread    {path}: {reason}"


def _line(label: str, counts: Mapping[str, int]) -> Iterator[str]:
    if counts:
        yield f"{label:<9} {', '.join(f'{name} {count:,}' for name, count in sorted(counts.items()))}"
