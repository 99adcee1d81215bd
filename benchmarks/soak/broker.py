"""The broker of a soak: `giusto broker` as a process, with the settings that its promises rest on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Self

from benchmarks.soak.cast import Cast

from giusto.guarantee.calibration import load
from giusto.guarantee.costs import Costs
from giusto.guarantee.model import LinkTerms, Setting

# A slow machine needs a larger one to admit anything, and the larger it is the burstier publishers may be.
TOLERANCES_NS = tuple(1_000_000 << power for power in range(8))
PRIORITY = 50


def calibrate(folder: Path, seconds: int) -> Path:
    """A fresh calibration of this machine."""
    path = folder / "calibration.json"
    command = [sys.executable, "-m", "giusto", "calibrate", "--seconds", str(seconds), "--output", str(path)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return path


def costs_of(calibration: Path | None) -> Costs:
    """What the broker will reckon with."""
    return Costs() if calibration is None else load(calibration)


def setting_of(policy: str, costs: Costs, tolerance_ns: int) -> Setting:
    """How the broker below serves, as admission sees it; a hop of the machine on either side."""
    hop = LinkTerms(delay_ns=costs.hop_ns)
    return Setting(input=policy, costs=costs, link_in=hop, link_out=hop, tolerance_ns=tolerance_ns)


class BrokerProcess:
    """A broker that is there as long as the `with` block."""

    def __init__(
        self, folder: Path, setting: Setting, cast: Cast, calibration: Path | None, hurried: bool
    ) -> None:
        path = folder / "giusto.toml"
        path.write_text(configuration(setting, cast, calibration, hurried))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "giusto", "broker", "--config", str(path)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        ready = self._process.stdout.readline().split()
        if not ready:
            raise RuntimeError(f"the broker does not start: {self._process.communicate()[1].strip()}")
        self.address = ready[-1]

    @property
    def process(self) -> int:
        return self._process.pid

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._process.terminate()
        self._process.communicate()


def configuration(setting: Setting, cast: Cast, calibration: Path | None, hurried: bool) -> str:
    """The settings in TOML."""
    lines = [
        "[broker]",
        'listen = ["tcp://127.0.0.1:0"]',
        f'input = "{setting.input}"',
        "[guarantee]",
        f'tolerance = "{setting.tolerance_ns}ns"',
        f'link_delay_in = "{setting.link_in.delay_ns}ns"',
        f'link_delay_out = "{setting.link_out.delay_ns}ns"',
    ]
    if calibration is not None:
        lines.append(f'calibration = "{calibration}"')
    if hurried:
        lines += ["[realtime]", f"priority = {PRIORITY}"]
    for topic in cast.contracts:
        share = cast.share(topic)
        lines += [f'[topics."{topic}"]', f"weight = {share.weight}", f"rate = {share.rate}"]
    return "\n".join(lines) + "\n"
