"""Which needs are refused whatever the shares are: for what publishers do not promise."""

from __future__ import annotations

from collections import defaultdict

from giusto.contract.matching import Flow, require_match, require_queue
from giusto.errors import Nearest, Refused
from giusto.guarantee.least import least_latency_ns, too_short
from giusto.guarantee.model import Setting
from giusto.planning.result import Failure
from giusto.planning.scenario import Needed, Offered, Scenario


def refusals(scenario: Scenario, setting: Setting) -> dict[int, Failure]:
    """The needs that no share can help, by their number."""
    by_topic: defaultdict[str, list[Offered]] = defaultdict(list)
    for offered in scenario.offers:
        by_topic[offered.topic].append(offered)
    unlimited = {each.client: each.topic for each in scenario.offers if each.offer.limit is None}
    found = {}
    for number, needed in enumerate(scenario.needs):
        offers = [offered for topic in scenario.covered[needed] for offered in by_topic[topic]]
        failure = _refusal(needed, offers, unlimited, scenario.config.tolerance_ns)
        if failure is None and not offers:
            failure = _impossible(needed, setting)
        if failure is not None:
            found[number] = failure
    return found


def _refusal(
    needed: Needed, offers: list[Offered], unlimited: dict[str, str], tolerance_ns: int
) -> Failure | None:
    for offered in offers:
        flow = Flow(offered.client, offered.topic, offered.offer)
        try:
            require_match(needed.need, flow)
            if needed.need.max_latency_ns is not None:
                require_queue(flow, tolerance_ns, needed.need.max_latency_ns)
        except Refused as refused:
            return Failure.of(needed, refused.why, refused.reason, refused.nearest)
    return None if needed.need.max_latency_ns is None else _unlimited(needed, offers, unlimited)


def _impossible(needed: Needed, setting: Setting) -> Failure | None:
    """A latency that no message can have, where nobody publishes."""
    asked_ns = needed.need.max_latency_ns
    if asked_ns is None:
        return None
    least_ns = least_latency_ns(setting)
    if asked_ns >= least_ns:
        return None
    return Failure.of(needed, "latency", too_short(asked_ns, least_ns), Nearest(least_ns))


def _unlimited(needed: Needed, offers: list[Offered], unlimited: dict[str, str]) -> Failure | None:
    """A topic under contract has publishers with a limit only, who send nothing else without one."""
    for offered in offers:
        if offered.offer.limit is None:
            reason = f"{offered.client} may send without limit on {offered.topic}"
            return Failure.of(needed, "no_limit", f"{reason}: give {offered.path} a min_sep or a rate")
        if offered.client in unlimited:
            reason = (
                f"{offered.client} publishes on {offered.topic} and without limit on "
                f"{unlimited[offered.client]}: limit that too, or let another client send it"
            )
            return Failure.of(needed, "unlimited_beside", reason)
    return None
