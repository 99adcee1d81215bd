"""The command `giusto plan`, as people use it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from giusto.config import load

WARD = Path(__file__).parents[2] / "examples" / "scenario.toml"
# Not a limit on speed: a command that never ends must not stop the test run.
WATCHDOG = 120
HOPELESS = """
[[offer]]
client = "bed"
topic = "alarm"
min_sep = "100ms"
max_size = 64

[[need]]
client = "nurse"
topic = "alarm"
max_latency = "1us"
"""


def run(*words: str | Path) -> tuple[int, str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIUSTO_")}
    done = subprocess.run(
        [sys.executable, "-m", "giusto", "plan", *map(str, words)],
        env=kept,
        capture_output=True,
        text=True,
        check=False,
        timeout=WATCHDOG,
    )
    return done.returncode, done.stdout, done.stderr


def test_the_ward_holds_and_every_contract_is_shown() -> None:
    code, out, err = run(WARD)
    assert (code, err) == (0, "")
    assert "ward/1/alarm" in out
    assert "all needs hold with twrr" in out
    assert "(proved)" in out


def test_comparing_names_all_policies_and_how_much_more_they_could_take() -> None:
    code, out, _ = run(WARD, "--compare", "--json")
    assert code == 0
    told = json.loads(out)
    assert [each["input"] for each in told["comparison"]] == ["twrr", "smooth", "fair", "edf"]
    assert all(each["load_factor"] >= 1 for each in told["comparison"] if each["holds"])


def test_a_need_that_cannot_hold_ends_with_1_and_says_what_could(tmp_path: Path) -> None:
    path = tmp_path / "scenario.toml"
    path.write_text(HOPELESS, encoding="utf-8")
    code, out, err = run(path)
    assert (code, err) == (1, "")
    assert "1 of 1 needs cannot be held" in out
    assert "a max_latency of" in out


def test_the_shares_are_written_as_a_configuration(tmp_path: Path) -> None:
    path = tmp_path / "giusto.toml"
    code, _, err = run(WARD, "--input", "any", "--write", path)
    assert code == 0
    assert f"wrote {path}" in err
    assert load(path, environ={}).share("ward/staff/call").weight == 2


def test_without_a_search_the_shares_stay_and_may_not_be_enough() -> None:
    code, out, _ = run(WARD, "--no-search", "--json")
    told = json.loads(out)
    assert code == 1
    assert [each["why"] for each in told["failures"]] == ["others"]
    assert told["shares"] == {}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[need]]\nclient = 'a'\ntopic = 'x'\nmax_latency = '5 parsecs'\n", "need[0].max_latency"),
        ("[[ned]]\n", "need, the nearest known name"),
        ("[", "a TOML file"),
    ],
)
def test_a_wrong_scenario_ends_with_2_and_one_line(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "scenario.toml"
    path.write_text(text, encoding="utf-8")
    code, out, err = run(path)
    assert (code, out) == (2, "")
    assert said in err
    assert len(err.splitlines()) == 1


def test_a_wrong_policy_and_a_missing_file_end_with_2(tmp_path: Path) -> None:
    assert run(WARD, "--input", "fifo")[0] == 2
    assert run(tmp_path / "none.toml")[0] == 2
