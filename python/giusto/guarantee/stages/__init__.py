"""How long the n-th message of a backlog takes, for each policy of the input stage.

A stage is told which topics are guarded and who publishes on them. It keeps the sums that its formula needs,
so that one change of the bus costs little, whatever the bus has already promised.
"""

from __future__ import annotations

from collections.abc import Callable

from giusto.errors import InvalidInput
from giusto.guarantee.model import Setting
from giusto.guarantee.stages.edf import Edf
from giusto.guarantee.stages.fair import Fair
from giusto.guarantee.stages.smooth import Smooth
from giusto.guarantee.stages.stage import Stage
from giusto.guarantee.stages.twrr import Twrr

REGISTRY: dict[str, Callable[[Setting], Stage]] = {"twrr": Twrr, "smooth": Smooth, "fair": Fair, "edf": Edf}


def stage(setting: Setting) -> Stage:
    """An empty stage of the configured policy."""
    make = REGISTRY.get(setting.input)
    if make is None:
        raise InvalidInput("input", setting.input, f"one of {', '.join(REGISTRY)}")
    return make(setting)


__all__ = ["REGISTRY", "Stage", "stage"]
