"""Every policy that can be chosen is under a contract suite."""

from __future__ import annotations

from pathlib import Path

from giusto import _core
from policies import POLICIES


def test_every_input_policy_is_under_contract() -> None:
    assert sorted(POLICIES) == sorted(name for name, _ in _core.input_policies())


def test_the_output_contract_runs_over_the_registry() -> None:
    suite = Path(__file__).parents[1] / "test_output_property.py"
    assert "_core.output_policies()" in suite.read_text()
