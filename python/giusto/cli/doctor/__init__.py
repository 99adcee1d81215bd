"""`giusto doctor`: whether this machine suits strict time, and what to do where it does not."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from giusto.cli.exits import guarded

if TYPE_CHECKING:
    from rich.text import Text

    from giusto.cli.doctor.checks import Finding

EXAMPLES = """\b
Examples:
  giusto doctor
  giusto doctor --port 0.0.0.0:7447
  giusto doctor --json | jq '.[] | select(.level != "ok")'"""

STYLES = {"ok": "green", "note": "cyan", "warn": "yellow", "fail": "red"}


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
    from giusto.cli.terminal import show

    findings = checks.examine(facts.collect(port or ["127.0.0.1:7447"]))
    if as_json:
        print(json.dumps([asdict(finding) for finding in findings], ensure_ascii=False, indent=2))
    else:
        show(lines(findings))
    if not checks.is_usable(findings):
        raise typer.Exit(1)


def lines(findings: list[Finding]) -> Text:
    """A line for each finding, and its advice below."""
    from rich.text import Text

    text = Text()
    for finding in findings:
        text.append(f"{finding.level:>5}", STYLES[finding.level])
        text.append(f"  {finding.what}: {finding.found}\n")
        if finding.advice:
            text.append(f"       → {finding.advice}\n", "dim")
    text.rstrip()
    return text
