"""What a newcomer runs first works as printed, with real processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from giusto.errors import NotInstalled
from giusto.pipeline.prerequisites import require_spark

ROOT = Path(__file__).parents[2]


def run(example: str, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "examples" / example), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | environment)


@pytest.fixture
def address() -> Iterator[str]:
    """A broker as the README starts it, but on any free port."""
    command = [sys.executable, "-m", "giusto", "broker", "--listen", "tcp://127.0.0.1:0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as broker:
        assert broker.stdout is not None
        yield broker.stdout.readline().split()[-1]
        broker.terminate()
        assert broker.wait() == 0


def test_the_first_example_of_the_readme_runs_as_printed(address: str) -> None:
    source = (ROOT / "examples" / "first.py").read_text("utf-8")
    assert f"```python\n{source}```" in (ROOT / "README.md").read_text("utf-8")
    done = run("first.py", GIUSTO_ADDRESS=address)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line.rsplit(" after ")[0] for line in lines[1:4]] == [
        "ward/3/alarm: SpO2 low",
        "ward/3/alarm: SpO2 very low",
        "ward/3/alarm: SpO2 normal",
    ]
    assert "3 messages" in lines[4]
    assert ", 0 lost" in lines[4]


@pytest.mark.parametrize(
    ("example", "printed"),
    [
        ("aio.py", "beds/0/alarm: SpO2 low\nbeds/1/alarm: SpO2 low\nbeds/2/alarm: SpO2 low\n"),
        ("request.py", "61\nthe handler raised LookupError: there is no bed-9\n"),
        ("typed.py", "Pulse(bed=1, rate=140.0)\n"),
    ],
)
def test_a_short_example_prints_what_it_should(address: str, example: str, printed: str) -> None:
    done = run(example, GIUSTO_ADDRESS=address)
    assert (done.returncode, done.stdout) == (0, printed), done.stderr


def test_the_example_of_a_test_without_a_broker_passes() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "examples/typed.py"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def missing_for_spark() -> str | None:
    """What the pipeline lacks here, if anything."""
    try:
        require_spark()
    except NotInstalled as missing:
        return str(missing)
    return None


def test_the_demo_shows_contracts_that_a_flood_does_not_break_and_audits_them(tmp_path: Path) -> None:
    done = run("demo", str(tmp_path), COLUMNS="200")
    assert done.returncode == 0, done.stderr + done.stdout
    said = " ".join(done.stdout.split())
    assert said.count("Granted: never later than") == 3
    assert "impatient wants 100 µs. Refused:" in said
    assert "the topics under contract lost" in said
    missing = missing_for_spark()
    if missing is not None:
        assert missing in said
        return
    report = Path(done.stdout.splitlines()[-1])
    verdict = json.loads((report.parent / "verdict.json").read_text("utf-8"))
    assert report.read_text("utf-8").startswith("<!doctype html>")
    assert verdict["contracts"] >= 3
    assert verdict["losses"]["policed"] > 0
    assert (
        verdict["records"] >= verdict["deliveries"] > 7_000
    )  # 500 + 200 + 20 in each of 10 s, and the camera's


@pytest.mark.parametrize(
    ("worst_ms", "lost", "policed", "stood_still_ms", "broken"),
    [
        (9.0, 0, 0, 0.1, False),
        (30.0, 0, 0, 19.9, True),  # 20 ms above its bound, and the machine stood still for less
        (30.0, 0, 0, 20.1, False),
        (9.0, 3, 3, 40.0, True),  # turned away, though they cannot have come so much too soon
        (9.0, 3, 3, 50.1, False),
        (9.0, 4, 3, 90.0, True),  # one was not turned away, and never came
    ],
)
def test_the_demo_fails_unless_the_machine_stood_still_just_then(
    monkeypatch: pytest.MonkeyPatch,
    worst_ms: float,
    lost: int,
    policed: int,
    stood_still_ms: float,
    broken: bool,
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "examples" / "demo"))
    import account
    import live

    calm, slow = {"max": 1.0, "lost": 0}, {"max": worst_ms, "lost": lost}
    client = SimpleNamespace(name="alarms", start_ns=0, slices=[calm, calm, calm, slow], lost=lost)
    kept = account.Kept(20.0, 10.0, 1.0, policed)
    witness = live.Witness([os.getpid()])
    witness.stop()
    then, before = 900_000_000, 100_000_000
    for at_ns, is_explained in ((then, not broken), (before, worst_ms < 10 and not lost)):
        witness.stalls = [live.Stall(at_ns, at_ns + 1, round(stood_still_ms * 1e6))]
        assert any(fault.is_ours for fault in account.faults_of(client, kept, witness)) is not is_explained


def test_the_demo_says_what_to_install_for_its_audit() -> None:
    program = (
        "import sys; sys.path[0] = 'examples/demo'; from audit import possible, Console; possible(Console())"
    )
    command = [sys.executable, "-c", program]
    settings = os.environ | {"JAVA_HOME": "nowhere", "COLUMNS": "500"}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=settings)
    assert "install Java 17 or newer" in done.stdout, done.stderr


def test_every_promise_in_virtual_time_is_kept() -> None:
    done = run("virtual_time.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(" kept ") == 4
    assert "broken" not in done.stdout
