"""Refuses a setting that means nothing."""

from __future__ import annotations

from giusto.errors import InvalidInput
from giusto.guarantee.model import Setting
from giusto.guarantee.stream import require_whole

LIMITS = (
    ("fragment_bytes", 1),
    ("period_ns", 0),
    ("budget_ns", 0),
    ("slice_ns", 0),
    ("turn_steps", 1),
    ("tolerance_ns", 0),
)


def check_setting(setting: Setting) -> None:
    """Whole numbers, and a budget that fits into its period."""
    for name, least in LIMITS:
        require_whole(name, getattr(setting, name), least)
    if (setting.period_ns == 0) != (setting.budget_ns == 0):
        raise InvalidInput("budget_ns", setting.budget_ns, "period_ns and budget_ns both 0, or both above 0")
    if setting.budget_ns > setting.period_ns:
        raise InvalidInput("budget_ns", setting.budget_ns, f"at most the period, {setting.period_ns}")
