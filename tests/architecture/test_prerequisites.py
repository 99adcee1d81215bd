"""`tools/prerequisites.sh` names, in plain words, all that a machine lacks."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "tools" / "prerequisites.sh"


class Machine:
    """A folder of programs that is the whole PATH."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def install(self, name: str, answer: str, status: int = 0) -> None:
        program = self.folder / name
        program.write_text(f"#!/bin/sh\necho '{answer}'\nexit {status}\n")
        program.chmod(0o755)

    def check(self, part: str = "build", **settings: str) -> tuple[int, str]:
        run = subprocess.run(
            ["/bin/sh", str(SCRIPT), part],
            env={"PATH": str(self.folder), **settings},
            capture_output=True,
            text=True,
            check=False,
        )
        return run.returncode, run.stderr


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A machine on which everything is there and new enough; the folder's name has a space."""
    folder = tmp_path / "all programs"
    folder.mkdir()
    made = Machine(folder)
    made.install("python3", "3.11")
    made.install("cargo", "cargo 1.95.0 (f2d3ce0bd 2026-03-21)")
    made.install("cc", "")
    return made


def test_a_complete_machine_gets_no_message(machine: Machine) -> None:
    assert machine.check() == (0, "")
    assert machine.check("lint") == (0, "")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("python3", "apt install python3 python3-venv"),
        ("cargo", "install Rust 1.85 or newer"),
        ("cc", "apt install build-essential"),
    ],
)
def test_a_missing_program_is_named_with_what_to_do(machine: Machine, name: str, words: str) -> None:
    (machine.folder / name).unlink()
    status, message = machine.check()
    assert status == 1
    assert f"missing: {name}" in message
    assert words in message


def test_everything_that_is_missing_is_named_at_once(tmp_path: Path) -> None:
    status, message = Machine(tmp_path).check()
    assert status == 1
    assert message.count("missing: ") == 3


@pytest.mark.parametrize("version", ["2.7", "3.9", "3.10"])
def test_an_old_python_is_refused(machine: Machine, version: str) -> None:
    machine.install("python3", version)
    status, message = machine.check()
    assert status == 1
    assert f"python3 is {version}" in message


@pytest.mark.parametrize("version", ["3.11", "3.14", "4.0"])
def test_a_new_python_is_accepted(machine: Machine, version: str) -> None:
    machine.install("python3", version)
    assert machine.check() == (0, "")


@pytest.mark.parametrize(("version", "status"), [("0.66.0", 1), ("1.84.1", 1), ("1.85.0", 0), ("2.0.0", 0)])
def test_cargo_must_be_as_new_as_the_workspace_says(machine: Machine, version: str, status: int) -> None:
    machine.install("cargo", f"cargo {version} (abc 2025-01-01)")
    assert machine.check()[0] == status


def test_a_python_that_does_not_run_is_refused(machine: Machine) -> None:
    machine.install("python3", "", status=1)
    status, message = machine.check()
    assert status == 1
    assert "unable to run" in message


def test_a_python_without_venv_names_the_debian_package(machine: Machine) -> None:
    program = machine.folder / "python3"
    program.write_text('#!/bin/sh\ncase "$2" in *ensurepip*) exit 1 ;; esac\necho 3.11\n')
    status, message = machine.check()
    assert status == 1
    assert "apt install python3-venv" in message


def test_another_python_can_be_named(machine: Machine) -> None:
    (machine.folder / "python3").rename(machine.folder / "python3.13")
    assert machine.check()[0] == 1
    assert machine.check(PYTHON=str(machine.folder / "python3.13")) == (0, "")


def test_missing_rust_tools_are_named_when_linting(machine: Machine) -> None:
    machine.install("cargo", "no such command", status=101)
    status, message = machine.check("lint")
    assert status == 1
    assert "rustup component add rustfmt" in message
    assert "rustup component add clippy" in message
