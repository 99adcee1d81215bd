"""Experiments that tests sweep over; workers find them by the name of this module."""

from __future__ import annotations

import os
import signal
import uuid
from pathlib import Path

from giusto.pipeline.waiting import waiting


def square(x: int, seed: int = 0) -> dict[str, float | None]:
    """Known numbers; an odd seed has no third one."""
    return {"square": x * x, "noisy": x + seed, "rare": None if seed % 2 else 1.0}


def sometimes(policy: str, seed: int) -> dict[str, float | None]:
    """A real run that fails for one seed."""
    if seed == 3:
        raise RuntimeError(f"no luck with {policy}")
    return waiting(policy=policy, messages=40, seed=seed)


def deadly(seed: int) -> dict[str, float]:
    """One seed that its worker does not survive."""
    if seed == 5:
        os.kill(os.getpid(), signal.SIGKILL)
    return {"seed_again": seed}


def marked(folder: str, seed: int, messages: int = 4_000) -> dict[str, float | None]:
    """Leaves a file for every run."""
    Path(folder, f"{seed}-{uuid.uuid4().hex}").touch()
    return waiting(messages=messages, seed=seed)


def marks(folder: Path) -> dict[int, int]:
    """How often each seed was run."""
    seeds = [int(path.name.partition("-")[0]) for path in folder.iterdir()]
    return {seed: seeds.count(seed) for seed in seeds}
