"""The page on the command line has every command with every option, and no other."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^\| `giusto (\w+)` \|", PAGE, re.MULTILINE)


def help_of(*words: str) -> str:
    """What `--help` prints, on a wide terminal."""
    command = [sys.executable, "-m", "giusto", *words, "--help"]
    settings = {**os.environ, "COLUMNS": "200"}
    return subprocess.run(command, env=settings, capture_output=True, text=True, check=True).stdout


def helps(*words: str) -> list[str]:
    """What `--help` prints for a command and the commands below it."""
    text = help_of(*words)
    listed = text.partition("Commands:\n")[2].partition("Examples:")[0]
    below = re.findall(r"^  (\w+)  ", listed, re.MULTILINE)
    return [text, *(text for name in below for text in helps(*words, name))]


def options_in(text: str) -> set[str]:
    """The options that a help text lists, without those of one paper alone."""
    listed = text.partition("Options:\n")[2].partition("Examples:")[0]
    entries = [entry for entry in re.split(r"^ +(?=-)", listed, flags=re.MULTILINE) if entry.startswith("-")]
    names = [re.split("  |\n", entry)[0] for entry in entries if "Single run:" not in entry]
    return {name for line in names for name in re.findall(r"(?<![\w-])--?[A-Za-z][\w-]*", line)}


def options_on_page(command: str) -> set[str]:
    """The options in the first column of a command's table."""
    section = PAGE.partition(f"\n## giusto {command}\n")[2].partition("\n## ")[0]
    cells = re.findall(r"^\| (`-[^|]*) \|", section, re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"(?<![\w-])--?[A-Za-z][\w-]*", cell)}


def test_the_page_has_every_command_in_the_same_order() -> None:
    listed = help_of().partition("Commands:\n")[2]
    assert re.findall(r"^  (\w+)  ", listed, re.MULTILINE) == COMMANDS
    assert re.findall(r"^## giusto (\w+)$", PAGE, re.MULTILINE) == COMMANDS


@pytest.mark.parametrize("command", COMMANDS)
def test_the_page_has_every_option_of_a_command(command: str) -> None:
    texts = helps(command)
    listed = {option for text in texts for option in options_in(text)}
    assert options_on_page(command) == listed - {"-h", "--help"}
    assert any("Examples:" in text for text in texts)


def test_settings_that_options_stand_for_exist() -> None:
    from giusto.config import SECTIONS

    named = re.findall(r"\| `(broker|realtime)\.(\w+)` \|", PAGE)
    assert len(named) > 10
    assert all(key in SECTIONS[section] for section, key in named)


def test_the_exit_codes_are_those_of_the_code() -> None:
    from giusto.cli import exits

    codes = [int(code) for code in re.findall(r"^\| (\d+) \|", PAGE, re.MULTILINE)]
    assert codes == [0, exits.FAILED, exits.USAGE, exits.INTERRUPTED, 128 + signal.SIGTERM]
