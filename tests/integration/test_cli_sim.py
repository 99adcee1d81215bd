"""The command `giusto sim`, as people use it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from giusto import record

WARDS = Path(__file__).parents[2] / "examples" / "network.toml"
# Not a limit on speed: a command that never ends must not stop the test run.
WATCHDOG = 120


def run(*words: str | Path, **variables: str) -> tuple[int, str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIUSTO_")}
    done = subprocess.run(
        [sys.executable, "-m", "giusto", "sim", *map(str, words)],
        env=kept | variables,
        capture_output=True,
        text=True,
        check=False,
        timeout=WATCHDOG,
    )
    return done.returncode, done.stdout, done.stderr


def test_the_wards_are_run_and_every_topic_has_a_row() -> None:
    code, out, err = run(WARDS, "--until", "2s", COLUMNS="80")
    assert (code, err) == (0, "")
    assert [line.split()[0] for line in out.splitlines()[:5]] == [
        "topic",
        "ward/1/vitals",
        "ward/2/vitals",
        "ward/1/alarm",
        "ward/2/video",
    ]
    assert "wards, seed 0: 2 s simulated in " in out
    assert "success rate" in out
    assert "expired" not in out


def test_a_narrow_terminal_cuts_nothing_off() -> None:
    # Everything has happened to some message, so that there are all columns.
    code, out, _ = run(WARDS, COLUMNS="80")
    assert code == 0
    assert "…" not in out
    table = out.partition("wards, seed")[0]
    assert {"late", "expired", "lost", "policed", "p50", "p99", "max"} <= set(table.splitlines()[0].split())


def test_json_has_counters_and_topics_and_follows_the_seed() -> None:
    def told(*words: str) -> dict[str, object]:
        code, out, _ = run(WARDS, "--json", "--until", "2s", *words)
        assert code == 0
        fields: dict[str, object] = json.loads(out)
        del fields["seconds"]
        return fields

    first = told()
    assert first["ideal"] == sum(topic["ideal"] for topic in first["topics"])  # type: ignore[attr-defined]
    assert first == told("--seed", "0")
    assert first != told("--seed", "1")


@pytest.mark.parametrize("name", ["records.parquet", "records.arrow", "trace"])
def test_records_are_kept_in_the_one_schema(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    code, _, err = run(WARDS, "--until", "1s", "--records", path)
    assert code == 0
    records = record.read(path)
    assert records.schema.equals(record.SCHEMA)
    assert records.num_rows > 50
    assert err == f"wrote {path}: {records.num_rows:,} records\n"


def test_each_link_that_was_crossed_leaves_a_record_if_that_is_asked_for(tmp_path: Path) -> None:
    for name, words in (("ends", []), ("hops", ["--hops"])):
        assert run(WARDS, "--until", "1s", "--records", tmp_path / f"{name}.parquet", *words)[0] == 0
    ends, hops = (record.read(tmp_path / f"{name}.parquet")["node"].to_pylist() for name in ("ends", "hops"))
    assert not any("->" in node for node in ends)
    assert sum("hub->station" in node for node in hops) > 50


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["absent.toml"], "giusto: scenario = absent.toml: expected a file that can be read"),
        ([WARDS, "--records", "records.csv"], "giusto: --records = records.csv: expected a folder, or a"),
        (
            ["absent.toml", "--records", "/absent/x.parquet"],
            "giusto: --records = /absent/x.parquet: expected a file that can be written, in a folder that",
        ),
        ([WARDS, "--hops"], "giusto: --hops = given: expected --records PATH beside it, to keep them"),
        ([WARDS, "--until", "soon"], "giusto: --until = soon: expected a duration with its unit"),
        ([WARDS, "--seed", "-1"], "giusto: --seed = -1: expected"),
    ],
)
def test_what_was_called_wrongly_is_said_in_a_line(words: list[str | Path], complaint: str) -> None:
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert err.startswith(complaint)
    assert len(err.splitlines()) == 1


def test_what_waits_for_ever_is_in_no_topic_and_is_said(tmp_path: Path) -> None:
    cut = tmp_path / "cut.toml"
    fault = '[[faults]]\nkind = "link_down"\nlink = "ward-1->hub"\n'
    cut.write_text(f"{WARDS.read_text('utf-8')}\n{fault}", "utf-8")
    code, out, err = run(cut, "--until", "2s", "--json")
    fields = json.loads(out)
    assert (code, fields["unfinished"] > 0) == (0, True)
    assert err == f"{fields['unfinished']:,} deliveries never ended, and are in no topic's figures\n"
    assert fields["ideal"] == fields["unfinished"] + sum(topic["ideal"] for topic in fields["topics"])


def test_a_scenario_that_cannot_run_is_refused_with_its_path(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.toml"
    wrong.write_text(WARDS.read_text("utf-8").replace('target = "station"', 'target = "statoin"'), "utf-8")
    code, out, err = run(wrong)
    assert (code, out) == (2, "")
    assert "links[2].target = statoin: expected a broker of the scenario" in err
    assert "did you mean 'station'?" in err
