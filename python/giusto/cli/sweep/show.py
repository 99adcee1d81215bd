"""`giusto sweep show`: what a sweep found, or what failed in it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from giusto.cli.exits import guarded, say
from giusto.cli.options import Json
from giusto.cli.sweep.options import Master

EXAMPLES = """\b
Examples:
  giusto sweep show rates
  giusto sweep show rates --by policy,rate --result success_rate --confidence 99
  giusto sweep show rates --json | jq '.[] | select(.result == "success_rate")'
  giusto sweep show rates --failures"""


@guarded
def show(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where the results are.", show_default=False)],
    by: Annotated[
        str | None,
        typer.Option(
            "--by", metavar="NAMES", help="Parameters that make a group; all but seed if not given."
        ),
    ] = None,
    result: Annotated[
        list[str] | None,
        typer.Option(
            "--result", "-r", metavar="NAME", help="Only this number; may be repeated.", show_default=False
        ),
    ] = None,
    confidence: Annotated[
        float, typer.Option("--confidence", metavar="PERCENT", help="How sure the intervals are.")
    ] = 95.0,
    failures: Annotated[
        bool, typer.Option("--failures", help="Show what failed, with where and why.")
    ] = False,
    master: Master = None,
    as_json: Json = False,
) -> None:
    """Show means and confidence intervals (Student's t) of a sweep, for each group of cases.

    The mean ± half of the interval is over the runs of a group, such as all seeds. A question that was
    asked before is answered at once; a new one starts Spark.
    """
    if failures:
        show_failures(folder, as_json=as_json)
    elif as_json:
        from giusto.pipeline import sweep

        found = sweep.summary(folder, by=names(by), confidence=confidence, master=master)
        print(json.dumps(only_of(found.to_pylist(), result or []), ensure_ascii=False))
    else:
        present(folder, names(by), result or [], confidence, master)
        tell_missing(folder)


def present(
    folder: Path,
    by: Sequence[str] | None = None,
    only: Sequence[str] = (),
    confidence: float = 95.0,
    master: str | None = None,
) -> None:
    """The table for people."""
    from giusto.cli import terminal
    from giusto.cli.sweep.table import drawn, page
    from giusto.pipeline import sweep

    found = sweep.summary(folder, by=by, confidence=confidence, master=master)
    terminal.show(drawn(page(found.to_pylist(), only)))
    say(f"mean ± half of the {confidence:g} % confidence interval")


def only_of(summary: list[dict[str, Any]], only: Sequence[str]) -> list[dict[str, Any]]:
    """The rows of these numbers, or of all; a number that there is not is refused."""
    from giusto.cli.sweep.table import chosen

    shown = chosen(sorted({row["result"] for row in summary}), list(only))
    return [row for row in summary if row["result"] in shown]


def tell_missing(folder: Path) -> None:
    """How far the sweep is, if it is not done."""
    from giusto.pipeline import sweep

    missing, failed = sweep.missing(folder), len(sweep.failures(folder))
    if missing:
        say(f"{missing:,} cases have no result, {failed:,} of them failed; `--failures` shows those")


def show_failures(folder: Path, *, as_json: bool) -> None:
    """What failed: a line each, or with the place in the code."""
    from giusto.pipeline import sweep

    found = sweep.failures(folder)
    if as_json:
        print(json.dumps([asdict(failure) for failure in found], ensure_ascii=False))
        return
    for failure in found:
        print(failure)
        print("".join(f"    {line}\n" for line in failure.trace.splitlines()), end="")


def names(text: str | None) -> list[str] | None:
    """`policy,rate` as names."""
    return None if text is None else [name for name in text.split(",") if name]
