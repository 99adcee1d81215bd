"""`giusto pipeline run`: makes the tables of some records, and says whether the contracts held."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from giusto.cli.exits import FAILED, INTERRUPTED, guarded, say
from giusto.cli.options import Json
from giusto.cli.pipeline.interrupting import Impatient, as_they_were, interruptible, until_told
from giusto.cli.pipeline.progress import Screen, watched
from giusto.cli.sweep.options import Master
from giusto.errors import InvalidInput

if TYPE_CHECKING:
    from giusto.pipeline.result import Result

EXAMPLES = """\b
Examples:
  giusto pipeline run --records trace
  giusto pipeline run --records trace --out tables --window 1s --strict
  giusto pipeline run --records run.parquet --json | jq .violations
  giusto pipeline run --bus giusto://127.0.0.1:7447 --out tables --stream --publish giusto://127.0.0.1:7447
  giusto pipeline run --records trace --master spark://host:7077 --conf spark.executor.memory=4g

Ends with 0 when the tables are made; with 1 if no record can be used, and, with --strict, if a delivery was
later than promised."""


@guarded
def run(
    records: Annotated[
        Path | None,
        typer.Option(
            "--records", "-r", metavar="PATH", help="A trace folder, a folder of Parquet files, or one file."
        ),
    ] = None,
    bus: Annotated[
        str | None,
        typer.Option(
            "--bus",
            metavar="URL",
            help="Get the records from the broker there, which traces.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="DIR",
            help="Keep the tables there; PATH/tables if not given. With --bus it has to be given.",
        ),
    ] = None,
    window: Annotated[
        str,
        typer.Option(
            "--window",
            metavar="TIME",
            help="What a row of topic_latency and shares covers, and what is recent in link_model.",
        ),
    ] = "10s",
    once: Annotated[
        bool, typer.Option("--once", help="Take all there is, and end. That is what it does if not told.")
    ] = False,
    stream: Annotated[
        bool, typer.Option("--stream", help="Go on with what comes, until Ctrl-C or SIGTERM.")
    ] = False,
    delay: Annotated[
        str,
        typer.Option("--delay", metavar="TIME", help="Stream: how much later than others rows may come."),
    ] = "10s",
    every: Annotated[
        str, typer.Option("--every", metavar="TIME", help="Stream: how often to look for new files.")
    ] = "1s",
    refresh: Annotated[
        str, typer.Option("--refresh", metavar="TIME", help="Stream: how often to make the tables anew.")
    ] = "10s",
    keep: Annotated[
        str | None,
        typer.Option(
            "--keep",
            metavar="TIME",
            help="Stream: remove deliveries this long after they were settled; all are kept if not given.",
            show_default=False,
        ),
    ] = None,
    master: Master = None,
    conf: Annotated[
        list[str] | None,
        typer.Option(
            "--conf",
            metavar="NAME=VALUE",
            help="A setting of Spark, such as spark.driver.memory=4g; may be repeated.",
            show_default=False,
        ),
    ] = None,
    publish: Annotated[
        str | None,
        typer.Option(
            "--publish", metavar="URL", help="Tell the broker there what was learned.", show_default=False
        ),
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace the tables of other records, or of a stream, in DIR.")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="End with 1 if a delivery was later than promised.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Turn records into tables: deliveries, latency, audit, earnings, losses, shares and models.

    Every delivery is compared with what was promised for it. Files and rows that cannot be used
    are put into quarantine with a reason; what is counted adds up.
    """
    if once and stream:
        raise InvalidInput("--stream", "also --once", "one of them")
    if keep is not None and not stream:
        raise InvalidInput("--keep", keep, "a time for --stream; a batch makes all deliveries anew")
    common = {
        "bus": bus,
        "publish": publish,
        "master": master,
        "window": window,
        "settings": chosen(conf or []),
        "replace": replace,
    }
    own = {"delay": delay, "every": every, "refresh": refresh, "keep": keep}
    try:
        with watched(live=not as_json) as screen:
            if stream:
                done = streamed(records, out, screen, {**common, **own})
            else:
                done = batched(records, out, screen, common)
    except Impatient:
        os._exit(INTERRUPTED)
    tell(done, as_json=as_json)
    is_useless = not stream and not done.verdict.used
    if is_useless or (strict and not done.verdict.held):
        raise typer.Exit(FAILED)


def batched(records: Path | None, out: Path | None, screen: Screen, options: dict[str, Any]) -> Result:
    """All there is, once; Ctrl-C leaves the tables as they were."""
    from giusto.pipeline import running

    return interruptible(
        lambda: running.run(records, out, watch=screen.watch, **options),
        lambda: as_they_were(running.place(records, out)),
    )


def streamed(records: Path | None, out: Path | None, screen: Screen, options: dict[str, Any]) -> Result:
    """What there is and what comes, until a signal."""
    from giusto.pipeline import running

    def said() -> str:
        if screen.has_begun():
            return "ended: the next start goes on from here"
        return as_they_were(running.place(records, out))

    with until_told(screen.has_begun, screen.say) as ended:
        return interruptible(
            lambda: running.stream(records, out, ended=ended, watch=screen.watch, **options), said
        )


def chosen(conf: list[str]) -> dict[str, str]:
    """`NAME=VALUE` as settings."""
    found = {}
    for text in conf:
        name, equals, value = text.partition("=")
        if not equals or not name.startswith("spark."):
            raise InvalidInput("--conf", text, "spark.NAME=VALUE")
        found[name] = value
    return found


def published(models: int) -> str:
    """What the broker was told, and where it says what it makes of it."""
    from giusto.models import VERDICT

    some = {0: "no model", 1: "1 model"}.get(models, f"{models:,} models")
    return f"published {some}" + (f"; the broker says on {VERDICT} what becomes of it" if models else "")


def tell(done: Result, *, as_json: bool) -> None:
    """What it came to."""
    from giusto.cli.pipeline.page import renewed
    from giusto.pipeline.running import withheld

    page = renewed(done.out)
    if done.published is not None:
        say(published(done.published))
        for line in withheld(done.verdict):
            say(line)
    if as_json:
        print(json.dumps({**done.verdict.to_dict(), "out": str(done.out)}, ensure_ascii=False))
        return
    from giusto.cli import terminal
    from giusto.cli.pipeline.quarantine import left_out
    from giusto.cli.pipeline.table import drawn

    terminal.show(drawn(done.verdict))
    for line in left_out(done.out):
        say(line)
    say(f"tables: {done.out}")
    say(page)
