"""`giusto doctor`: whether this machine suits strict time, and what to do where it does not."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from giusto.cli.exits import guarded

if TYPE_CHECKING:
    from giusto.cli.doctor.checks import Finding

EXAMPLES = """\b
Examples:
  giusto doctor
  giusto doctor --port 0.0.0.0:7447
  giusto doctor --json | jq '.[] | select(.level != "ok")'"""


@guarded
def doctor(
    port: Annotated[
        list[str] | None,
        typer.Option(
            metavar="HOST:PORT", help="Look at this host:port; may be repeated. [default: 127.0.0.1:7447]"
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON array of findings.")] = False,
) -> None:
    """Check this machine: clock, scheduler rights, limits, processors, ports; say what to do.

    Exits with 1 if giusto cannot work here at all.
    """
    from giusto.cli.doctor import checks, facts

    findings = checks.examine(facts.collect(port or ["127.0.0.1:7447"]))
    if as_json:
        print(json.dumps([asdict(finding) for finding in findings], ensure_ascii=False, indent=2))
    else:
        show(findings)
    if not checks.is_usable(findings):
        raise typer.Exit(1)


def show(findings: list[Finding]) -> None:
    """A line for each finding, and its advice below."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True)
    styles = {"ok": "green", "note": "cyan", "warn": "yellow", "fail": "red"}
    for finding in findings:
        line = Text.assemble(
            (f"{finding.level:>5}", styles[finding.level]), f"  {finding.what}: {finding.found}"
        )
        console.print(line)
        if finding.advice:
            console.print(Text(f"         → {finding.advice}", style="dim"))
