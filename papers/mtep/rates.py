"""Fig. 8: success rate and total earning as publishers send more."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING

from giusto.papers import Findings, Table, Trial, Value, drawing

from .policies import in_thousands
from .policies import setting as policy_setting
from .setting import BASELINES, EXPIRIES, OWN_EXPIRY, PAPER_NAMES, Setting, all_figures, spread

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMNS = ("success_mean", "success_sd", "success_least", "success_most")
EARNINGS = ("earning_mean", "earning_sd", "earning_least", "earning_most")
DASHES = {"none": ":", "dead": "-", "eps": "--"}


def measure(trial: Trial) -> Findings:
    """Every policy, with every expiry mode of the baselines, at several rates."""
    rates, seeds, minutes = trial.pick(
        small=((0.25, 1.0, 3.0), range(2), 12), full=((0.25, 0.5, 1.0, 1.5, 2.0, 3.0), range(20), 120)
    )
    kinds = [("mtep", OWN_EXPIRY["mtep"]), *((policy, expiry) for policy in BASELINES for expiry in EXPIRIES)]
    cases = {
        (policy, expiry, rate): [at_rate(policy, expiry, rate, seed, minutes) for seed in seeds]
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


def at_rate(policy: str, expiry: str, rate: float, seed: int, minutes: int) -> Setting:
    """One run; at rate 1 it is one of Fig. 7."""
    usual = policy_setting(policy, expiry, seed, minutes)
    return Setting(policy=policy, rate=rate, expiry=usual.expiry, seed=seed, minutes=minutes)


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


def curve(table: Table, policy: str, column: str) -> list[float]:
    """A figure of a policy by rate, with the expiry that fits."""
    return table.column(column, policy=PAPER_NAMES[policy], expiry=OWN_EXPIRY[policy])


def draw(tables: Mapping[str, Table]) -> Figure:
    """Fig. 8: means; bands are the standard deviation over topologies."""
    figure, panels = drawing.canvas(1, 2, high=3.4)
    for axes, what, unit in zip(panels, ("success", "earning"), ("success rate, %", "total earning, thousands"), strict=True):
        panel(axes, tables["rates"], what)
        title = f"Fig. 8: {'success rate' if what == 'success' else 'total earning'}"
        drawing.label(axes, title=title, x="messages per minute and publisher", y=unit, legend=False)
    panels[0].set_ylim(0, 101)
    in_thousands(panels[1].yaxis)
    drawing.shared_legend(figure, panels, columns=5)
    return figure


def panel(axes: Axes, table: Table, what: str) -> None:
    for place, (policy, name) in enumerate(PAPER_NAMES.items()):
        for expiry in [OWN_EXPIRY["mtep"]] if policy == "mtep" else EXPIRIES:
            where: dict[str, Value] = {"policy": name, "expiry": expiry}
            rates = table.column("rate_per_min", **where)
            means, deviations = (table.column(f"{what}_{each}", **where) for each in ("mean", "sd"))
            own = expiry == OWN_EXPIRY[policy]
            style = "-" if policy == "mtep" else DASHES[expiry]
            axes.plot(
                rates,
                means,
                style,
                color=drawing.COLOURS[place],
                marker="o" if own else None,
                markersize=4,
                linewidth=1.8 if own else 1.0,
                label=name if policy == "mtep" else f"{name} {expiry}",
            )
            if own:
                low, high = (
                    [mean + sign * sd for mean, sd in zip(means, deviations, strict=True)] for sign in (-1, 1)
                )
                axes.fill_between(rates, low, high, color=drawing.COLOURS[place], alpha=0.12, linewidth=0)
