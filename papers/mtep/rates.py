"""Fig. 8: success rate and total earning as publishers send more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from giusto.papers import Findings, Table, Trial, Value, drawing

from .policies import in_thousands, setting
from .setting import BASELINES, EXPIRIES, OWN_EXPIRY, PAPER_NAMES, all_figures, spread

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

OTHERS = {"eps": "--", "none": ":"}
COLUMNS = ("success_mean", "success_sd", "success_least", "success_most")
EARNINGS = ("earning_mean", "earning_sd", "earning_least", "earning_most")


def measure(trial: Trial) -> Findings:
    """Every policy at several rates, with each expiry mode of the baselines, in the same topologies."""
    rates, seeds, minutes = trial.pick(
        small=((0.25, 1.0, 3.0), range(2), 8), full=((0.25, 0.5, 1.0, 2.0, 3.0), range(20), 120)
    )
    kinds = [(policy, expiry) for policy in PAPER_NAMES for expiry in tried(policy)]
    cases = {
        (policy, expiry, rate): [replace(setting(policy, expiry, seed, minutes), rate=rate) for seed in seeds]
        for policy, expiry in kinds
        for rate in rates
    }
    runs = all_figures(trial, [each for settings in cases.values() for each in settings])
    rows: list[tuple[Value, ...]] = []
    for (policy, expiry, rate), settings in cases.items():
        found = [runs[each] for each in settings]
        success = spread(100 * each.success_rate for each in found)
        earning = spread(each.total_earning for each in found)
        rows.append((PAPER_NAMES[policy], expiry, rate, *success, *earning))
    table = Table(("policy", "expiry", "rate_per_min", *COLUMNS, *EARNINGS), rows)
    return Findings(claims(table), {"rates": table})


def tried(policy: str) -> tuple[str, ...]:
    """The expiry modes of a policy: rule (14) is a part of MTEP."""
    return (OWN_EXPIRY[policy],) if policy == "mtep" else EXPIRIES


def claims(table: Table) -> dict[str, Value]:
    """What the text says about Fig. 8."""
    success = {policy: curve(table, policy, "success_mean") for policy in PAPER_NAMES}
    earning = {policy: curve(table, policy, "earning_mean") for policy in PAPER_NAMES}
    light = [each[0] for each in earning.values()]
    return {
        "light-success": min(each[0] for each in success.values()),
        "light-earning": 100 * (max(light) / min(light) - 1),
        "rate-success-falls": all(after < before for before, after in pairwise(success["mtep"])),
        "rate-earning-rises": all(after > before for before, after in pairwise(earning["mtep"])),
        "rate-others-fall": all(
            falls(success[policy], success["mtep"]) and falls(earning[policy], earning["mtep"])
            for policy in BASELINES
        ),
    }


def falls(other: list[float], mtep: list[float]) -> bool:
    """Whether the part that it has of MTEP's figure falls at every step."""
    parts = [a / b for a, b in zip(other, mtep, strict=True)]
    return all(after < before for before, after in pairwise(parts))


def curve(table: Table, policy: str, column: str, expiry: str | None = None) -> list[float]:
    """A figure of a policy by rate; with the expiry that fits if none is named."""
    return table.column(column, policy=PAPER_NAMES[policy], expiry=expiry or OWN_EXPIRY[policy])


def draw(tables: Mapping[str, Table]) -> Figure:
    """Fig. 8: means; bands are the standard deviation over topologies."""
    figure, panels = drawing.canvas(1, 2, high=3.4)
    units = {"success": "success rate, %", "earning": "total earning, thousands"}
    for axes, (what, unit) in zip(panels, units.items(), strict=True):
        panel(axes, tables["rates"], what)
        title = f"Fig. 8: {unit.partition(',')[0]}"
        drawing.label(axes, title=title, x="messages per minute and publisher", y=unit, legend=False)
    panels[0].set_ylim(0, 101)
    in_thousands(panels[1].yaxis)
    drawing.shared_legend(figure, panels, columns=5)
    return figure


def panel(axes: Axes, table: Table, what: str) -> None:
    for policy, colour in zip(PAPER_NAMES, drawing.COLOURS, strict=False):
        means, deviations = (curve(table, policy, f"{what}_{each}") for each in ("mean", "sd"))
        rates = curve(table, policy, "rate_per_min")
        axes.plot(rates, means, "o-", color=colour, markersize=4, label=PAPER_NAMES[policy])
        for expiry, style in OTHERS.items() if policy in BASELINES else ():
            other, text = curve(table, policy, f"{what}_mean", expiry), f"{PAPER_NAMES[policy]}, {expiry}"
            axes.plot(rates, other, style, color=colour, linewidth=1, label=text)
        low, high = (
            [mean + sign * deviation for mean, deviation in zip(means, deviations, strict=True)]
            for sign in (-1, 1)
        )
        axes.fill_between(rates, low, high, color=colour, alpha=0.12, linewidth=0)
