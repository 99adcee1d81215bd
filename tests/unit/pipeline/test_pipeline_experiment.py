"""How an experiment is found, called, and what it may give."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from giusto.errors import InvalidInput
from giusto.pipeline.experiment import declared, find, require_cases, require_parameters, run
from giusto.pipeline.fingerprint import digest, fingerprint
from giusto.pipeline.waiting import waiting


class NativePanic(BaseException):
    """As native code raises it."""


def exit_early() -> dict[str, float]:
    raise SystemExit(3)


def panic() -> dict[str, float]:
    raise NativePanic("index out of bounds")


def test_an_experiment_is_found_by_its_name_and_by_its_module() -> None:
    assert find("waiting") is find("giusto.pipeline.waiting:waiting") is waiting


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("wating", "module:function, or one of waiting"),
        ("no_such_module:f", "ModuleNotFoundError"),
        ("giusto.pipeline.waiting:nothing", "a function that giusto.pipeline.waiting has"),
    ],
)
def test_an_unknown_experiment_is_refused(name: str, problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem):
        find(name)


def test_parameters_are_those_of_the_function() -> None:
    require_parameters("waiting", waiting, ["policy", "seed"])
    with pytest.raises(
        InvalidInput, match="parameter = polcy: expected one that waiting takes: policy, load"
    ):
        require_parameters("waiting", waiting, ["polcy"])
    with pytest.raises(InvalidInput, match="missing a required argument: 'rate'"):
        require_parameters("f", lambda rate, seed: {}, ["seed"])
    require_parameters("f", lambda **anything: {}, ["seed"])


def test_a_check_is_asked_about_every_case() -> None:
    def checked(rate: int) -> dict[str, float]:
        raise AssertionError("not run")

    asked: list[int] = []

    def check(rate: int) -> None:
        asked.append(rate)
        if rate > 2:
            raise ArithmeticError("too quick")

    require_cases("f", checked, [{"rate": 9}])
    declared(check=check)(checked)
    require_cases("f", checked, [{"rate": 1}, {"rate": 2}])
    assert asked == [1, 2]
    with pytest.raises(
        InvalidInput, match="parameters = rate=3: expected a case of f: ArithmeticError: too quick"
    ):
        require_cases("f", checked, [{"rate": 1}, {"rate": 3}])


def test_numbers_of_any_kind_are_floats_and_none_is_no_value() -> None:
    outcome = run(lambda: {"a": 1, "b": True, "c": 0.5, "d": None}, {})
    assert outcome.error is None
    assert outcome.values == {"a": 1.0, "b": 1.0, "c": 0.5, "d": None}


@pytest.mark.parametrize(
    ("result", "problem"),
    [
        (None, "a dict of numbers"),
        ({}, "a dict of numbers"),
        ({"a": math.nan}, "result.a = nan: expected a finite number, or None"),
        ({"a": math.inf}, "a finite number"),
        ({"a": "1"}, "a finite number"),
        ({"a": [1]}, "a finite number"),
        ({"a b": 1}, "letters, digits and _"),
        ({"seconds": 1}, "a column of the sweep already"),
        ({"rate": 1}, "a column of the sweep already"),
    ],
)
def test_a_wrong_result_is_a_failure_of_that_run(result: Any, problem: str) -> None:
    outcome = run(lambda rate: result, {"rate": 1})
    assert outcome.error is not None
    assert problem in outcome.error


@pytest.mark.parametrize(
    ("function", "said"), [(exit_early, "SystemExit: 3"), (panic, "NativePanic: index out of bounds")]
)
def test_whatever_an_experiment_raises_is_its_outcome(function: Any, said: str) -> None:
    outcome = run(function, {})
    assert outcome.error == said
    assert outcome.trace is not None
    assert function.__name__ in outcome.trace


def test_ctrl_c_is_no_outcome() -> None:
    def interrupted() -> dict[str, float]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(interrupted, {})


def test_the_fingerprint_changes_with_the_sources(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text("x = 1")
    before = digest([module])
    module.write_text("x = 2")
    assert digest([module]) != before
    assert set(fingerprint("waiting")) == {"experiment", "giusto", "core", "simulator", "sources"}


def test_the_fingerprint_of_a_paper_changes_with_the_code_of_the_paper(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paper = tmp_path / "small"
    paper.mkdir()
    for name in ("claims.toml", "__init__.py", "network.py"):
        (paper / name).touch()
    monkeypatch.setenv("GIUSTO_PAPERS", str(tmp_path))
    before = fingerprint("giusto.papers:case")
    assert fingerprint("giusto.papers:case") == before
    (paper / "network.py").write_text("LAYERS = 7")
    assert fingerprint("giusto.papers:case")["sources"] != before["sources"]


def test_the_same_seed_waits_as_long() -> None:
    first, second = waiting(policy="fair", seed=3), waiting(policy="fair", seed=3)
    assert first == second != waiting(policy="fair", seed=4)
    worst, mean = first["urgent_worst_ns"], first["urgent_mean_ns"]
    assert worst is not None
    assert mean is not None
    assert worst >= mean >= 1_000_000


@pytest.mark.parametrize("wrong", [{"load": 0}, {"messages": 3}, {"policy": "none"}])
def test_what_cannot_be_served_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        waiting(**wrong)
