"""One run of the experiment, and many: what is chosen for it, and the figures that come out."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from statistics import fmean, stdev
from typing import Annotated, Any, Literal

from giusto.errors import InvalidInput
from giusto.papers import Trial
from giusto.sim import Chance, Link, run

from .network import Reading, scenario

# The policies of giusto, and what the paper calls them.
PAPER_NAMES = {"mtep": "MTEP", "priority": "FIX", "fifo": "FCFS", "lrt": "LRT"}
BASELINES = ("priority", "fifo", "lrt")
EXPIRIES = ("none", "dead", "eps")
# Rule (14) is a part of MTEP; for the others the paper says nothing, and this is what fits.
OWN_EXPIRY = {"mtep": "eps", "priority": "dead", "fifo": "dead", "lrt": "dead"}
RATE_MIN, RATE_MAX, MINUTES_MAX = 1e-6, 20.0, 1_440
READINGS = {
    "usual": Reading(),
    "spread": Reading(sending="spread"),
    "one-instant": Reading(sending="one"),
    "poisson": Reading(sending="poisson"),
    "per-kb": Reading(pieces=50),
    "spread-per-kb": Reading(sending="spread", pieces=50),
    "halves": Reading(filters="halves"),
    "greedy": Reading(greedy=True),
    "cut": Reading(drain=False),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What is chosen for one run. `seed` is the network and its subscriptions; `draws` what happens in it."""

    policy: str = "mtep"
    rate: float = 1.0
    weight: float = 0.4
    seed: int = 0
    expiry: str = "own"
    reading: str = "usual"
    draws: int = 0
    minutes: int = 120


@dataclass(frozen=True, slots=True)
class Figures:
    """What came out of one run."""

    success_rate: float
    total_earning: float
    ideal_earning: float
    published: int
    ideal: int
    delivered: int
    late: int
    expired: int
    unfinished: int
    hops: int
    seconds: float


@cache
def figures(setting: Setting) -> Figures:
    """One run; a run that several figures of the paper need is made once."""
    reading = READINGS[setting.reading]
    expiry = OWN_EXPIRY[setting.policy] if setting.expiry == "own" else setting.expiry
    link = Link(source="any", target="any", policy=setting.policy, expiry=expiry, weight=setting.weight)
    chosen = scenario(setting.seed, setting.rate, reading, link, minutes=setting.minutes)
    draws = Chance(setting.seed, "draws", setting.draws).bits() >> 1
    done = run(chosen, seed=draws, records="none", drain=reading.drain)
    counters = ("published", "ideal", "delivered", "late", "expired", "unfinished", "hops")
    return Figures(
        success_rate=done.success_rate or 0.0,
        total_earning=done.total_earning,
        ideal_earning=done.ideal_earning,
        seconds=done.seconds,
        **{name: done.counters[name] for name in counters},
    )


def all_figures(trial: Trial, settings: Sequence[Setting]) -> dict[Setting, Figures]:
    """Many runs, on all cores: a run needs no Python."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = pool.map(figures, settings)
        return {setting: next(found) for setting in trial.each(settings)}


def spread(values: Iterable[float]) -> tuple[float, float, float, float]:
    """Mean, standard deviation, least and greatest."""
    listed = list(values)
    return fmean(listed), stdev(listed), min(listed), max(listed)


def check(*, rate: float, weight: float, minutes: int, **_: object) -> None:
    """Refuse what cannot be run."""
    if not RATE_MIN <= rate <= RATE_MAX:
        raise InvalidInput("--rate", rate, f"{RATE_MIN:g} to {RATE_MAX:g}")
    if not 0 <= weight <= 1:
        raise InvalidInput("--weight", weight, "0 to 1")
    if not 1 <= minutes <= MINUTES_MAX:
        raise InvalidInput("--minutes", minutes, f"1 to {MINUTES_MAX}")


def once(
    *,
    policy: Annotated[Literal["mtep", "fifo", "priority", "lrt"], "How every link chooses."] = "mtep",
    rate: Annotated[float, "Messages per minute of each publisher."] = 1.0,
    weight: Annotated[float, "Weight of the expected earning in (13), 0 to 1."] = 0.4,
    seed: Annotated[int, "The network, its subscriptions and all draws."] = 0,
    expiry: Annotated[
        Literal["own", "none", "dead", "eps"],
        "When a waiting message is dropped: never, when every deadline has passed, or by rule (14); "
        "own is eps for mtep and dead for the others.",
    ] = "own",
    reading: Annotated[
        Literal[
            "usual", "spread", "one-instant", "poisson", "per-kb", "spread-per-kb", "halves", "greedy", "cut"
        ],
        "How to read what the paper leaves open.",
    ] = "usual",
    draws: Annotated[int, "Other messages and delays in the same network."] = 0,
    minutes: Annotated[int, "How long publishers send."] = 120,
) -> dict[str, Any]:
    """One run of two hours: success rate (15), total earning (1), and what became of every delivery."""
    setting = Setting(
        policy=policy,
        rate=rate,
        weight=weight,
        seed=seed,
        expiry=expiry,
        reading=reading,
        draws=draws,
        minutes=minutes,
    )
    chosen = {name: getattr(setting, name) for name in Setting.__dataclass_fields__}
    found = figures(setting)
    told = chosen | {name: getattr(found, name) for name in Figures.__dataclass_fields__}
    # Of nothing there is no part that succeeds.
    return told if found.ideal else told | {"success_rate": None}
