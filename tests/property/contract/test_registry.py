"""Every policy that can be chosen is under the contract suite."""

from __future__ import annotations

from giusto import _core
from policies import POLICIES


def test_every_input_policy_is_under_contract() -> None:
    assert sorted(POLICIES) == sorted(name for name, _ in _core.input_policies())
