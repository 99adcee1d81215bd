"""On what the promises of a broker rest: the costs of its work, and how it serves."""

from __future__ import annotations

from giusto.config import BrokerConfig
from giusto.guarantee.calibration import load
from giusto.guarantee.costs import Costs
from giusto.guarantee.model import LinkTerms, Setting


def costs_of(config: BrokerConfig) -> Costs:
    """The costs of the calibration that the configuration names, and of records; else the defaults."""
    terms = config.guarantee
    if terms.calibration is None:
        return Costs()
    costs = load(terms.calibration, any_machine=terms.any_machine)
    return costs.with_records() if config.record_options()["record_capacity"] else costs


def setting_of(config: BrokerConfig, costs: Costs) -> Setting:
    """How the broker serves, as far as bounds depend on it."""
    terms = config.guarantee
    return Setting(
        input=config.input,
        costs=costs,
        fragment_bytes=config.fragment_bytes,
        period_ns=config.period_ns,
        budget_ns=config.budget_ns,
        slice_ns=terms.slice_ns,
        tolerance_ns=config.tolerance_ns,
        tolerance_beside_ns=config.tolerance_ns - terms.tolerance_ns,
        link_in=_link(terms.link_delay_in_ns, terms.link_bandwidth_in_bps, costs),
        link_out=_link(terms.link_delay_out_ns, terms.link_bandwidth_out_bps, costs),
        include_stall=terms.stall == "include",
        datagrams=any(address.startswith("udp://") for address in config.listen),
    )


def _link(delay_ns: int, bandwidth_bps: int, costs: Costs) -> LinkTerms:
    """The network, and the hop between a socket and the program that waits at it."""
    return LinkTerms(delay_ns=delay_ns + costs.hop_ns, bits_per_second=bandwidth_bps)


def remark(config: BrokerConfig, costs: Costs) -> str:
    """What the broker says at start."""
    if config.guarantee.calibration is None:
        return (
            "promises rest on default costs, meant to be too high; `giusto calibrate` measures this machine's"
        )
    return f"promises rest on {costs.basis}"
