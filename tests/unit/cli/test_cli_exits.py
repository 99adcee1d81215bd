"""How failures end a command."""

from __future__ import annotations

import pytest
import typer

from giusto.cli.exits import ending, guarded
from giusto.errors import InvalidInput, Refused, Unreachable


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (KeyboardInterrupt(), 130, ""),
        (BrokenPipeError(32, "Broken pipe"), 0, ""),
        (InvalidInput("--rate", "fast", "a rate"), 2, "--rate = fast: expected a rate"),
        (Unreachable("giusto://x:1", "refused"), 1, "no broker at giusto://x:1: refused"),
        (Refused("latency", "too much"), 1, "too much"),
        (FileNotFoundError(2, "No such file or directory", "a.toml"), 1, "a.toml: No such file or directory"),
    ],
)
def test_each_failure_has_its_code_and_line(error: BaseException, code: int, line: str) -> None:
    assert ending(error) == (code, line)


def test_a_bug_is_not_hidden() -> None:
    @guarded
    def command() -> None:
        raise ZeroDivisionError

    assert ending(ZeroDivisionError()) is None
    with pytest.raises(ZeroDivisionError):
        command()


def test_the_line_goes_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    @guarded
    def command() -> None:
        raise Refused("latency", "too much")

    with pytest.raises(typer.Exit) as end:
        command()
    assert end.value.exit_code == 1
    assert capsys.readouterr() == ("", "giusto: too much\n")
