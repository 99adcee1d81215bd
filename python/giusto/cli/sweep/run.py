"""`giusto sweep run`: runs a sweep, or goes on with one."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from giusto.cli.exits import FAILED, guarded, say
from giusto.cli.options import Json
from giusto.cli.sweep.options import Master
from giusto.errors import Missing

if TYPE_CHECKING:
    from giusto.pipeline.sweep import Done, Failure, Watch

EXAMPLES = """\b
Examples:
  giusto sweep run waiting --param policy=twrr,fair --param load=0.5,0.9 --seeds 20 --out waiting-sweep
  giusto sweep run mymodule:experiment -p rate=1..5 -p weight=0..1..0.2 --seeds 20 -o rates
  giusto sweep run sweep.toml --out rates --master 'local[4]'
  giusto sweep run --resume --out rates

An experiment is a function of a module that can be imported from here. It takes the parameters by keyword
and returns a dict of numbers. Ends with 0 if every run gave numbers, 1 if one failed."""

TOLD = 5


@guarded
def run(
    table: Annotated[
        str | None,
        typer.Argument(
            metavar="TABLE.toml|EXPERIMENT",
            help="Experiment and parameters in TOML, or module:function, or a short name.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="DIR", help="Keep the results there.", show_default=False),
    ] = None,
    param: Annotated[
        list[str] | None,
        typer.Option(
            "--param",
            "-p",
            metavar="NAME=VALUES",
            help="Values of a parameter: a,b,c or 1..5 or 0..1..0.2; may be repeated.",
            show_default=False,
        ),
    ] = None,
    seeds: Annotated[
        int | None, typer.Option("--seeds", metavar="N", help="Each case with seed = 0 … N-1.")
    ] = None,
    master: Master = None,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on with the sweep in DIR; what has a result is not run again."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Run an experiment once for each combination of parameters, and keep the results as Parquet.

    A run that fails is reported with its parameters and does not stop the others. A sweep that was
    interrupted goes on with `--resume`, with or without the experiment and its parameters.
    """
    from giusto.cli.sweep.progress import watched

    if out is None:
        raise Missing("--out", "the folder for the results")
    sys.path.insert(0, os.getcwd())  # modules that stand here
    try:
        with watched(live=not as_json) as watch:
            done = finished(table, out, param or [], seeds, master, resume, watch)
    except KeyboardInterrupt:
        say(f"interrupted: go on with `giusto sweep run --resume --out {out}`")
        raise
    tell(done, as_json=as_json)
    if done.failures:
        raise typer.Exit(FAILED)


def finished(
    table: str | None,
    out: Path,
    param: list[str],
    seeds: int | None,
    master: str | None,
    resume: bool,
    watch: Watch,
) -> Done:
    """The sweep, run to its end."""
    from giusto.cli.sweep.arguments import spec
    from giusto.pipeline import sweep

    if table is None:
        if not resume:
            raise Missing("TABLE", "a TOML file or an experiment, unless --resume is given")
        if param or seeds is not None:
            raise Missing("TABLE", "the experiment whose --param and --seeds these are")
        return sweep.resume(out, master=master, watch=watch)
    given = spec(table, param, seeds)
    return sweep.run(given.experiment, given.cases(), out, master=master, resume=resume, watch=watch)


def tell(done: Done, *, as_json: bool) -> None:
    """What it came to."""
    if as_json:
        print(json.dumps({**asdict(done), "out": str(done.out)}, ensure_ascii=False))
        return
    from giusto.cli.sweep.show import present

    if done.cases > len(done.failures):
        present(done.out)
    rate = f", {done.ran / done.seconds:,.1f}/s" if done.seconds else ""
    say(f"{done.ran:,} of {done.cases:,} runs now in {done.seconds:.1f} s{rate}: {done.out}")
    tell_failures(done.failures, done.out)


def tell_failures(failures: list[Failure], out: Path) -> None:
    """The first of them, and how to see the others."""
    if failures:
        say(f"{len(failures):,} failed:")
    for failure in failures[:TOLD]:
        say(f"  {failure}")
    if len(failures) > TOLD:
        say(f"  … all of them: giusto sweep show {out} --failures")
