"""Fig. 9: how much the weight of the expected earning in (13) matters.

Each weight is tried with the same messages and delays, and with fresh ones: the paper does not say which it
did, and how success and earning go together depends on it. Publishers have random phases, or are spread.
"""

from __future__ import annotations

from collections.abc import Mapping
from statistics import correlation, fmean, stdev
from typing import TYPE_CHECKING

from giusto.papers import Findings, Table, Trial, Value, drawing

from .policies import in_thousands
from .setting import Figures, Setting, all_figures

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WEIGHTS = (0.0, 0.1, 0.15, 0.2, 0.4, 0.6, 0.8, 1.0)
SUCCESS, EARNING = (88.85, 90.84), (332_927.9, 348_287.2)
# Reading, and whether every weight has messages and delays of its own.
KINDS = {
    "random phases": ("usual", False),
    "spread phases": ("spread", False),
    "fresh draws": ("usual", True),
}
# From here on the paper calls it stable.
STABLE = 0.2
USED = 0.4

Curves = dict[str, list[list[Figures]]]


def measure(trial: Trial) -> Findings:
    """Every weight in every topology."""
    weights, seeds, minutes = trial.pick(small=((0.0, 0.4, 1.0), range(2), 8), full=(WEIGHTS, range(20), 120))
    cases = {
        kind: [
            [
                Setting(
                    weight=weight, seed=seed, reading=reading, draws=place if fresh else 0, minutes=minutes
                )
                for place, weight in enumerate(weights)
            ]
            for seed in seeds
        ]
        for kind, (reading, fresh) in KINDS.items()
    }
    wanted = [each for table in cases.values() for row in table for each in row]
    runs = all_figures(trial, list(dict.fromkeys(wanted)))
    curves = {kind: [[runs[each] for each in row] for row in table] for kind, table in cases.items()}
    table = means(curves, weights)
    return Findings(claims(curves, table, weights), {"weights": table})


def means(curves: Curves, weights: tuple[float, ...]) -> Table:
    """Mean and standard deviation over topologies."""
    rows: list[tuple[Value, ...]] = []
    for kind, found in curves.items():
        for weight, column in zip(weights, zip(*found, strict=True), strict=True):
            success = [100 * each.success_rate for each in column]
            earning = [each.total_earning for each in column]
            rows.append((kind, weight, fmean(success), stdev(success), fmean(earning), stdev(earning)))
    return Table(("kind", "weight", "success_mean", "success_sd", "earning_mean", "earning_sd"), rows)


def claims(curves: Curves, table: Table, weights: tuple[float, ...]) -> dict[str, Value]:
    """What the text says about Fig. 9; of the means unless said otherwise."""
    success, earning = (table.column(f"{what}_mean", kind="random phases") for what in ("success", "earning"))
    stable, stable_earning = (
        [each for each, weight in zip(means, weights, strict=True) if weight >= STABLE]
        for means in (success, earning)
    )
    used = weights.index(USED)
    reached = [100 * row[used].success_rate >= SUCCESS[0] for row in curves["random phases"]]
    rich = [row[used].total_earning >= EARNING[0] for row in curves["random phases"]]
    spread_success, spread_earning = (
        table.column(f"{what}_mean", kind="spread phases") for what in ("success", "earning")
    )
    together, fresh = (
        fmean(going_together(row) for row in curves[kind]) for kind in ("random phases", "fresh draws")
    )
    return {
        "weight-success-least": min(success),
        "weight-success-most": max(success),
        "weight-earning-least": min(earning),
        "weight-earning-most": max(earning),
        "weight-success-reached": 100 * fmean(reached),
        "weight-earning-reached": 100 * fmean(rich),
        "weight-success-spread": spread_success[used],
        "weight-earning-spread": spread_earning[used],
        "weight-stable": max(stable) - min(stable),
        "weight-stable-earning": 100 * (max(stable_earning) / min(stable_earning) - 1),
        "weight-best-success": weights[success.index(max(success))],
        "weight-best-earning": weights[earning.index(max(earning))],
        "weight-correlation": together,
        "weight-correlation-fresh": fresh,
    }


def going_together(row: list[Figures]) -> float:
    """The correlation of success and earning over the weights, in one topology."""
    return correlation([each.success_rate for each in row], [each.total_earning for each in row])


def draw(tables: Mapping[str, Table]) -> Figure:
    """Fig. 9: means over topologies, and the published range."""
    figure, panels = drawing.canvas(1, 2, high=3.4)
    published = (("success", SUCCESS, "success rate, %"), ("earning", EARNING, "total earning, thousands"))
    for axes, (what, limits, unit) in zip(panels, published, strict=True):
        panel(axes, tables["weights"], what)
        axes.axhspan(*limits, color="black", alpha=0.08, zorder=0, label="published range")
        title = f"Fig. 9: {unit.partition(',')[0]}"
        drawing.label(axes, title=title, x="weight of the expected earning", y=unit, legend=False)
    in_thousands(panels[1].yaxis)
    drawing.shared_legend(figure, panels, columns=5)
    return figure


def panel(axes: Axes, table: Table, what: str) -> None:
    for place, kind in enumerate(KINDS):
        weights = table.column("weight", kind=kind)
        values, deviations = (table.column(f"{what}_{each}", kind=kind) for each in ("mean", "sd"))
        fresh = KINDS[kind][1]
        colour = drawing.COLOURS[place % 2]
        axes.plot(
            weights,
            values,
            ":" if fresh else "-",
            color=colour,
            marker=None if fresh else "o",
            markersize=4,
            label=kind,
        )
        if not fresh:
            low, high = (
                [value + sign * sd for value, sd in zip(values, deviations, strict=True)] for sign in (-1, 1)
            )
            axes.fill_between(weights, low, high, color=colour, alpha=0.1, linewidth=0)
