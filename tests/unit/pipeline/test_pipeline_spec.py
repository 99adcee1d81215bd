"""Which sweep a TOML file or the options of the command line describe."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from giusto.cli.sweep.arguments import parameters, spec
from giusto.errors import InvalidInput
from giusto.pipeline.spec import from_document

TABLE = """
experiment = "mtep"
seeds = 2
[[grid]]
policy = ["mtep", "fifo"]
rate = {from = 1, to = 3}
weight = 0.4
[[grid]]
policy = "mtep"
rate = 1
weight = {from = 0, to = 0.3, step = 0.1}
"""


def test_several_grids_are_one_sweep() -> None:
    found = from_document(tomllib.loads(TABLE))
    assert found.experiment == "mtep"
    cases = found.cases()
    assert len(cases) == 2 * (2 * 3 + 4)
    assert cases[0] == {"policy": "mtep", "rate": 1, "weight": 0.4, "seed": 0}
    assert [case["weight"] for case in cases[-8::2]] == [0.0, 0.1, 0.2, 0.3]


def test_options_change_a_file(tmp_path: Path) -> None:
    path = tmp_path / "table.toml"
    path.write_text(TABLE)
    found = spec(str(path), ["policy=lrt"], 1)
    assert {case["policy"] for case in found.cases()} == {"lrt"}
    assert {case["seed"] for case in found.cases()} == {0}


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("policy=mtep,fifo", ["mtep", "fifo"]),
        ("rate=1..5", [1, 2, 3, 4, 5]),
        ("rate=-1..1", [-1, 0, 1]),
        ("rate=1,4..5,9", [1, 4, 5, 9]),
        ("weight=0..0.3..0.1", [0.0, 0.1, 0.2, 0.3]),
        ("weight=0.5", [0.5]),
        ("size=1e3", [1000.0]),
        ("loud=true,false", [True, False]),
        ("file=a..b", ["a..b"]),
        ("name=x=y", ["x=y"]),
    ],
)
def test_the_values_of_a_parameter(text: str, values: list[object]) -> None:
    found = parameters([text])[text.partition("=")[0]]
    assert found == values
    assert [type(each) for each in found] == [type(each) for each in values]


@pytest.mark.parametrize(
    ("texts", "problem"),
    [
        (["rate"], "name=values"),
        (["=1"], "name=values"),
        (["rate="], "name=values"),
        (["rate=1", "rate=2"], "each name once"),
        (["rate=5..1"], "--param rate = 5..1..1: expected low..high..step"),
        (["rate=1..5..0"], "upwards"),
        (["rate=0..1e9"], "at most 10,000,000 steps"),
    ],
)
def test_a_wrong_parameter_is_refused(texts: list[str], problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem):
        parameters(texts)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("seeds = 1", "experiment"),
        ('experiment = "x"\nseeds = 0', "seeds = 0"),
        ('experiment = "x"\nsedes = 1', "sedes = unknown: expected seeds"),
        ('experiment = "x"\ngrid = 1', r"\[\[grid\]\]"),
        ('experiment = "x"\n[[grid]]\nrate = {from = 1, too = 2}', r"grid\[0\].rate.too"),
        ('experiment = "x"\n[[grid]]\nrate = {from = 1}', r"grid\[0\].rate"),
        ('experiment = "x"\n[[grid]]\nrate = []', r"grid\[0\].rate.*at least one"),
        ('experiment = "x"\n[[grid]]\nrate = [[1]]', r"grid\[0\].rate\[0\]"),
    ],
)
def test_a_wrong_file_is_refused_with_the_place(text: str, problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem):
        from_document(tomllib.loads(text))


def test_a_file_that_is_no_toml_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "table.toml"
    with pytest.raises(InvalidInput, match="can be read"):
        spec(str(path), [], None)
    path.write_text("experiment = ")
    with pytest.raises(InvalidInput, match="a TOML file"):
        spec(str(path), [], None)


def test_seeds_and_the_parameter_seed_are_either_or() -> None:
    with pytest.raises(InvalidInput, match="either seeds or"):
        spec("waiting", ["seed=1,2"], 3).cases()
