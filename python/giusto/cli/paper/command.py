"""The command of one paper: options that all papers have, then those of its single run."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.main import get_command

from giusto.cli.exits import guarded
from giusto.cli.options import Json
from giusto.cli.paper import end, judged
from giusto.cli.paper.tables import claims_table, figures_line
from giusto.cli.terminal import show
from giusto.errors import InvalidInput
from giusto.papers import Paper, Size, find, once
from giusto.papers.parameters import Parameter, parameters
from giusto.papers.results import document, keep

Full = Annotated[bool, typer.Option("--full/--small", help="As much as the paper did, or less.")]
Out = Annotated[
    Path | None,
    typer.Option("--out", metavar="DIR", help="Write figures (PNG), tables (CSV) and results.json there."),
]
Only = Annotated[str | None, typer.Option("--only", metavar="EXPERIMENT", help="Run one experiment alone.")]


def command_of(key: str) -> Any:
    """The command of a paper."""
    paper = find(key)
    own = parameters(paper.code.once)
    app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)
    app.command(key, help=about(paper, own), context_settings={"help_option_names": ["-h", "--help"]})(
        signed(paper, own)
    )
    command = get_command(app)
    command.name = key
    return command


def about(paper: Paper, own: list[Parameter]) -> str:
    """What `--help` says."""
    experiments = ", ".join(paper.code.experiments)
    text = f"{paper.sheet.title}.\n\n{paper.sheet.about}\n\nExperiments: {experiments}."
    if own:
        text += "\n\nWith an option that says “single run”, one run is made with these values and printed."
    return text


def signed(paper: Paper, own: list[Parameter]) -> Callable[..., None]:
    """A function whose signature has the options of this paper."""

    @guarded
    def command(full: bool, out: Path | None, only: str | None, json_output: bool, **given: Any) -> None:
        single = {name: value for name, value in given.items() if value is not None}
        if single:
            require_alone(full, out, only)
            print(single_run(paper, single, json_output))
        else:
            whole_run(paper, full, out, only, json_output)

    shared = {"full": (Full, False), "out": (Out, None), "only": (Only, None), "json_output": (Json, False)}
    options = {name: kind for name, (kind, _) in shared.items()} | {each.name: option(each) for each in own}
    command.__annotations__ = options
    command.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=shared.get(name, (None, None))[1],
                annotation=kind,
            )
            for name, kind in options.items()
        ]
    )
    return command


def option(parameter: Parameter) -> Any:
    """A text, read by the parameter itself: one set of rules for all callers."""
    metavar = "|".join(parameter.choices) or parameter.kind.__name__.upper()
    help_text = f"Single run: {parameter.about} [default: {parameter.default}]"
    return Annotated[str | None, typer.Option(parameter.option, metavar=metavar, help=help_text)]


def require_alone(full: bool, out: Path | None, only: str | None) -> None:
    """A single run has no size, and draws nothing."""
    for name, value in (("--full", full or None), ("--out", out), ("--only", only)):
        if value is not None:
            raise InvalidInput(name, value, "no option of a single run beside it")


def single_run(paper: Paper, given: dict[str, str], as_json: bool) -> str:
    """One run with the values given."""
    found = once(paper, **given)
    if as_json:
        return json.dumps(found, ensure_ascii=False)
    width = max(map(len, found))
    return "\n".join(f"{name:{width}}  {value}" for name, value in found.items())


def whole_run(paper: Paper, full: bool, out: Path | None, only: str | None, as_json: bool) -> None:
    """Every experiment, judged and shown."""
    outcome = judged(paper, Size.FULL if full else Size.SMALL, out, only)
    if out is not None:
        keep(outcome, out)
    if as_json:
        print(json.dumps(document(outcome), ensure_ascii=False))
    else:
        show(claims_table(outcome))
        print(figures_line(outcome, out))
    end([outcome])
