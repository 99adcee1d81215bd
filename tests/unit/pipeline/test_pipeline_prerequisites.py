"""What is said where Spark cannot run, and what becomes of its temporary folder."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from giusto.errors import InvalidInput, NotInstalled
from giusto.pipeline import prerequisites
from giusto.pipeline.prerequisites import JAVA_REMEDY, java_version, require_spark
from giusto.pipeline.scratch import Scratch
from giusto.pipeline.session import reason, session


@pytest.fixture
def packages(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if all packages were there."""
    monkeypatch.setattr(prerequisites, "find_spec", lambda name: object())


def java_that_says(folder: Path, text: str) -> dict[str, str]:
    """An environment with a Java that says this."""
    program = folder / "java"
    program.write_text(f"#!/bin/sh\necho '{text}' >&2\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return {"PATH": str(folder)}


def test_a_missing_package_is_named_with_the_command() -> None:
    code = (
        "import sys; sys.modules['pyspark'] = None\n"
        "from giusto.errors import NotInstalled\n"
        "from giusto.pipeline.prerequisites import require_spark\n"
        "try:\n    require_spark()\nexcept NotInstalled as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == 'the Python package pyspark is missing: pip install "giusto[spark]"\n'


@pytest.mark.usefixtures("packages")
def test_a_missing_java_is_named_with_what_to_install() -> None:
    for environ in ({"PATH": ""}, {"PATH": "/bin", "JAVA_HOME": "/nowhere"}):
        with pytest.raises(NotInstalled, match="Java is missing: install Java 17 or newer"):
            require_spark(environ)


@pytest.mark.parametrize("more", [[], ["--json"], ["--stream", "--out", "out"]])
def test_a_missing_java_ends_the_command_with_a_line(more: list[str], tmp_path: Path) -> None:
    pytest.importorskip("pyspark", reason="the package would be named first")
    (tmp_path / "run.parquet").touch()
    words = ["pipeline", "run", "--records", "." if "--stream" in more else "run.parquet", *more]
    settings = os.environ | {"JAVA_HOME": "nowhere"}
    done = subprocess.run(
        [sys.executable, "-m", "giusto", *words],
        cwd=tmp_path,
        env=settings,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr == f"giusto: Java is missing: {JAVA_REMEDY}\n"
    assert done.stdout == ""
    assert [path.name for path in tmp_path.iterdir()] == ["run.parquet"]


@pytest.mark.usefixtures("packages")
def test_an_old_java_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotInstalled, match=r"a newer Java than 11 .*install Java 17"):
        require_spark(java_that_says(tmp_path, 'openjdk version "11.0.2" 2019-01-15'))


@pytest.mark.usefixtures("packages")
def test_a_java_that_does_not_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotInstalled, match=r"a Java that runs .*oops"):
        require_spark(java_that_says(tmp_path, "oops"))


@pytest.mark.usefixtures("packages")
def test_a_java_that_is_new_enough_will_do(tmp_path: Path) -> None:
    require_spark(java_that_says(tmp_path, 'openjdk version "21" 2023-09-19'))


@pytest.mark.parametrize(
    ("said", "version"),
    [('java version "1.8.0_381"', 8), ('openjdk version "17.0.15" 2025-04-15', 17), ("no java", None)],
)
def test_the_version_of_java(said: str, version: int | None) -> None:
    assert java_version(said) == version


@pytest.mark.parametrize("master", ["", "lokal", "local[0]", "local[]", "http://x", "sc://localhost"])
def test_a_master_that_is_none_is_refused_before_anything_starts(master: str) -> None:
    with pytest.raises(InvalidInput, match="master = "):
        session(master)


def test_the_folder_is_removed(tmp_path: Path) -> None:
    scratch = Scratch(tmp_path)
    (scratch.path / "spill").mkdir()
    assert list(tmp_path.iterdir()) == [scratch.path]
    scratch.remove()
    scratch.remove()
    assert list(tmp_path.iterdir()) == []


def test_the_folder_of_a_killed_process_is_removed_by_the_next(tmp_path: Path) -> None:
    code = (
        "import os, pathlib, signal, sys\n"
        "from giusto.pipeline.scratch import Scratch\n"
        "scratch = Scratch(pathlib.Path(sys.argv[1]))\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    living = Scratch(tmp_path)
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)
    assert len(list(tmp_path.iterdir())) == 2
    newest = Scratch(tmp_path)
    assert set(tmp_path.iterdir()) == {living.path, newest.path}
    living.remove()
    newest.remove()


def test_why_spark_did_not_start_is_said_in_a_line() -> None:
    stopped = "An error occurred.\n: java.lang.IllegalStateException: on a stopped SparkContext.\nThis was"
    assert reason(stopped, "") == "nobody answers there; start the cluster, or name another one"
    log = "Exception in thread main\n\tat org.apache.spark.deploy.SparkSubmit.main\n\nNo such option\n"
    said = reason("Java gateway process exited\nbefore all", log)
    assert said == "Java gateway process exited; Exception in thread main; No such option"
