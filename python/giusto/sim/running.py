"""A scenario becomes a run: the same scenario and seed give the same records on every machine."""

from __future__ import annotations

import time

from giusto.contract.duration import Duration, duration_ns
from giusto.errors import InvalidInput
from giusto.sim.building import build, placed
from giusto.sim.checking import check_names
from giusto.sim.result import Run
from giusto.sim.scenario import Scenario

RECORDS = ("none", "deliveries", "hops")


def run(
    scenario: Scenario,
    seed: int = 0,
    *,
    until: Duration | None = None,
    records: str = "deliveries",
    record_capacity: int | None = None,
    drain: bool = True,
) -> Run:
    """Run `scenario` until its publishers stop, at `until`, and everything has arrived.

    Unless it is to `drain`, it ends at `until` with what is under way unfinished. `records` is `deliveries`,
    one for each message and subscription; `hops`, also one for each message and link that it crosses; or
    `none`, when counters and totals are enough. At most `record_capacity` are kept. Other threads go on
    meanwhile.
    """
    if not isinstance(scenario, Scenario):
        raise InvalidInput("scenario", scenario, "a Scenario")
    _check_options(seed, records, drain)
    until_ns = scenario.until_ns if until is None else duration_ns(until, "until", least_ns=1)
    check_names(scenario)
    net = build(scenario, seed=seed, records=records, record_capacity=record_capacity)
    began = time.perf_counter()
    try:
        outcome = net.run(until_ns, drain=drain)
    except InvalidInput as error:
        raise placed(error, scenario) from None
    seconds = time.perf_counter() - began
    return Run(scenario=scenario, seed=seed, until_ns=until_ns, seconds=seconds, outcome=outcome)


def _check_options(seed: object, records: object, drain: object) -> None:
    """Refuse what the core would take for something else, or not name."""
    if seed is None:
        raise InvalidInput("seed", seed, "a whole number: a run is always that of a seed")
    if not isinstance(records, str) or records not in RECORDS:
        raise InvalidInput("records", records, f"one of {', '.join(RECORDS)}")
    if not isinstance(drain, bool):
        raise InvalidInput("drain", drain, "True or False")
