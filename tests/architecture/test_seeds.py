"""A run prints its seed, and the seed draws the same cases again."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

RunTests = Callable[..., tuple[int, str]]
DRAWING = """
from hypothesis import given, strategies as st

@given(st.integers(0, 10**12))
def test_drawing(number):
    print("drew", number)

def test_fixture(seed, cases):
    print("seed is", seed, "and cases", cases)
"""


def drawn(output: str) -> list[str]:
    return re.findall(r"drew (\d+)", output)


def test_the_same_seed_draws_the_same_cases(run_tests: RunTests) -> None:
    first, again, other = (run_tests(DRAWING, GIUSTO_SEED=seed, GIUSTO_CASES="1")[1] for seed in "778")
    assert len(drawn(first)) >= 100
    assert drawn(first) == drawn(again)
    assert drawn(first) != drawn(other)
    assert "seed is 7 and cases 1" in first
    assert "seed: GIUSTO_SEED=7 GIUSTO_CASES=1" in first


def test_more_cases_can_be_asked_for(run_tests: RunTests) -> None:
    status, output = run_tests(DRAWING, GIUSTO_SEED="7", GIUSTO_CASES="3")
    assert status == 0
    assert len(drawn(output)) >= 300


def test_a_seed_is_drawn_and_printed_when_none_is_given(run_tests: RunTests) -> None:
    seeds = {re.search(r"GIUSTO_SEED=(\d+)", run_tests(DRAWING, GIUSTO_SEED="")[1]) for _ in range(2)}
    assert None not in seeds
    assert len({seed.group(1) for seed in seeds if seed}) == 2


def test_workers_draw_from_the_same_seed(run_tests: RunTests) -> None:
    code = "def test_seed(seed):\n    assert seed == 41\n"
    assert run_tests(code, "-n", "2", GIUSTO_SEED="41")[0] == 0


@pytest.mark.parametrize("name", ["GIUSTO_SEED", "GIUSTO_CASES"])
def test_an_option_that_is_no_number_is_refused(run_tests: RunTests, name: str) -> None:
    status, output = run_tests(DRAWING, **{name: "many"})
    assert status == pytest.ExitCode.USAGE_ERROR
    assert f"{name} = many: expected a whole number" in output


def test_a_part_that_was_not_tested_is_said_aloud(run_tests: RunTests) -> None:
    code = """
import pytest

@pytest.mark.spark
def test_sweep():
    pytest.skip("Java is missing: install it")
"""
    said = "NOT TESTED: 1 tests of the pipeline. Java is missing: install it"
    assert said in run_tests(code, "-W", "ignore")[1]
    assert "NOT TESTED" not in run_tests("def test_one(): pass")[1]
