"""The contract suite over an input policy written in Python: what does not depend on its shares."""

from __future__ import annotations

import pytest

from test_input_contract import (
    test_capacity_is_respected_and_used,
    test_nothing_is_lost_and_nothing_is_duplicated,
    test_order_is_kept_within_publisher_topic_and_priority,
    test_work_is_conserved,
)
from turns import Turns

__all__ = [
    "test_capacity_is_respected_and_used",
    "test_nothing_is_lost_and_nothing_is_duplicated",
    "test_order_is_kept_within_publisher_topic_and_priority",
    "test_work_is_conserved",
]
pytestmark = pytest.mark.parametrize("policy", [Turns])
