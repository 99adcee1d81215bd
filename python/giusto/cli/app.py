"""Which commands there are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from giusto.cli import (
    bench,
    broker,
    calibrate,
    doctor,
    paper,
    pipeline,
    plan,
    pub,
    records,
    report,
    sim,
    sub,
    sweep,
    top,
    views,
)

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,  # plain help: quick, and the same in a pipe
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def print_version(wanted: bool) -> None:
    """Answer `--version` and end."""
    if wanted:
        from giusto import _core

        print(f"giusto {_core.VERSION}")
        raise typer.Exit


@app.callback()
def giusto(
    version: Annotated[
        bool, typer.Option("--version", callback=print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Publish/subscribe in strict time.

    \b
    Start with three terminals, and one of these in each:
      giusto broker
      giusto sub 'ward/#'
      giusto pub ward/3/alarm 'SpO2 low'
    """


COMMANDS: list[tuple[Callable[..., None], str, str]] = [
    (broker.broker, broker.EXAMPLES, "Run a broker."),
    (pub.pub, pub.EXAMPLES, "Publish messages on a topic."),
    (sub.sub, sub.EXAMPLES, "Subscribe and print what arrives."),
    (top.top, top.EXAMPLES, "Show topics and clients of a broker, live."),
    (views.views, views.EXAMPLES, "Show who publishes and who receives which topics."),
    (plan.plan, plan.EXAMPLES, "Compute bounds and choose shares before anything runs."),
    (sim.sim, sim.EXAMPLES, "Run a scenario of brokers and links in virtual time."),
    (records.records, records.EXAMPLES, "Say what a trace of records holds."),
    (report.report, report.EXAMPLES, "Write the verdict on a run as one HTML file."),
    (bench.bench, bench.EXAMPLES, "Measure latency and throughput."),
    (calibrate.calibrate, calibrate.EXAMPLES, "Measure what the broker's work costs here, for guarantees."),
    (doctor.doctor, doctor.EXAMPLES, "Check this machine, and say what to do."),
]
for command, examples, about in COMMANDS:
    app.command(epilog=examples, short_help=about)(command)
app.add_typer(paper.app, name="paper", short_help="Run the published experiments again.")
app.add_typer(sweep.sweep, name="sweep", short_help="Run an experiment many times, and see what it gave.")
app.add_typer(pipeline.pipeline, name="pipeline", short_help="Turn records into tables and a verdict.")
