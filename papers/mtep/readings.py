"""What the paper leaves open, read in other ways: which of them move the figures, and where to."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean, stdev
from typing import TYPE_CHECKING

from giusto.papers import Findings, Table, Trial, Value, drawing

from .policies import PUBLISHED, in_thousands
from .setting import BASELINES, PAPER_NAMES, READINGS, Figures, Setting, all_figures
from .weights import EARNING, SUCCESS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SAID = {
    "usual": "as in Fig. 7",
    "spread": "publishers evenly spread",
    "one-instant": "publishers all at once",
    "poisson": "Poisson publishers",
    "per-kb": "a draw for each KB",
    "spread-per-kb": "spread, a draw for each KB",
    "halves": "filters that halve",
    "greedy": "greedy routes",
    "cut": "ends after two hours",
}
RATIOS = [f"{PAPER_NAMES[policy].lower()}_{metric}_ratio" for policy, metric in PUBLISHED]


def measure(trial: Trial) -> Findings:
    """Every reading in the same topologies."""
    names, seeds, minutes = trial.pick(
        small=(("usual", "spread", "one-instant"), range(2), 8), full=(tuple(READINGS), range(5), 120)
    )
    cases = {
        name: {
            policy: [Setting(policy=policy, seed=seed, reading=name, minutes=minutes) for seed in seeds]
            for policy in PAPER_NAMES
        }
        for name in names
    }
    wanted = [each for kinds in cases.values() for settings in kinds.values() for each in settings]
    runs = all_figures(trial, wanted)
    rows = [
        row(name, {policy: [runs[each] for each in settings] for policy, settings in kinds.items()})
        for name, kinds in cases.items()
    ]
    columns = ("success_mean", "success_sd", "earning_mean", "earning_sd", "late_percent", "expired_percent")
    table = Table(("reading", "what", *columns, *RATIOS), rows)
    success = dict(zip(table.column("reading"), table.column("success_mean"), strict=True))
    best = "spread" if success["spread"] > success["usual"] > success["one-instant"] else "another"
    return Findings({"reading-phases": best}, {"readings": table})


def row(name: str, found: Mapping[str, list[Figures]]) -> tuple[Value, ...]:
    """What a reading gives."""
    mtep = found["mtep"]
    success, earning = [100 * each.success_rate for each in mtep], [each.total_earning for each in mtep]
    late, expired = (
        100 * fmean(getattr(each, what) / each.ideal for each in mtep) for what in ("late", "expired")
    )
    ratios = [
        fmean(getattr(each, column) for each in mtep) / fmean(getattr(each, column) for each in found[policy])
        for policy, metric in PUBLISHED
        for column in ("success_rate" if metric == "success" else "total_earning",)
    ]
    figures = (fmean(success), stdev(success), fmean(earning), stdev(earning), late, expired)
    return (name, SAID[name], *figures, *ratios)


def draw(tables: Mapping[str, Table]) -> Figure:
    """MTEP's own figures at the left, its ratio to the others at the right."""
    figure, panels = drawing.canvas(1, 3, wide=3.9, high=4.2, sharey=True)
    table = tables["readings"]
    own(panels[0], table, "success", SUCCESS, "success rate of MTEP, %")
    own(panels[1], table, "earning", EARNING, "total earning of MTEP, thousands")
    in_thousands(panels[1].xaxis)
    against(panels[2], table)
    places = range(len(table.rows))
    panels[0].set_yticks(places, table.column("what"))
    panels[0].invert_yaxis()
    drawing.shared_legend(figure, panels, columns=5)
    return figure


def own(axes: Axes, table: Table, what: str, limits: tuple[float, float], unit: str) -> None:
    """Mean and standard deviation, and the published range."""
    means, deviations = table.column(f"{what}_mean"), table.column(f"{what}_sd")
    axes.axvspan(*limits, color="black", alpha=0.1, zorder=0, label="published range over weights")
    axes.errorbar(
        means,
        range(len(means)),
        xerr=deviations,
        fmt="o",
        color=drawing.COLOURS[0],
        capsize=3,
        label="mean ± deviation over topologies",
    )
    drawing.label(axes, title="Readings, weight 0.4", x=unit, y="", legend=False)
    axes.locator_params(axis="x", nbins=5)


def against(axes: Axes, table: Table) -> None:
    """Success of MTEP over that of the others."""
    for colour, policy in enumerate(BASELINES, 1):
        name = PAPER_NAMES[policy]
        ratios = table.column(f"{name.lower()}_success_ratio")
        axes.plot(ratios, range(len(ratios)), "o", color=drawing.COLOURS[colour], label=f"over {name}")
        published = PUBLISHED[policy, "success"]
        text = f"published, {name}"
        axes.axvline(published, color=drawing.COLOURS[colour], linestyle="--", linewidth=1, label=text)
    axes.set_xscale("log")
    axes.set_xticks([1, 1.5, 2, 3, 4, 6], ["1", "1.5", "2", "3", "4", "6"])
    axes.minorticks_off()
    drawing.label(axes, title="Success over that of the others", x="ratio", y="", legend=False)
