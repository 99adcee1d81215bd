"""Fig. 7: the four policies at one message per minute, and what the baselines do with expired messages.

The topology is random, so that there is a ratio for each topology. `none`, `dead` and `eps` are tried for
the baselines; MTEP has its rule (14).
"""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean, quantiles
from typing import TYPE_CHECKING

from giusto.papers import Findings, Table, Trial, Value, drawing

from .setting import BASELINES, EXPIRIES, OWN_EXPIRY, PAPER_NAMES, Figures, Setting, all_figures, spread

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

Groups = Mapping[tuple[str, str], list[Figures]]
METRICS = {"success": "success_rate", "earning": "total_earning"}
# MTEP over the others.
PUBLISHED = {
    ("priority", "success"): 1.33,
    ("fifo", "success"): 1.97,
    ("lrt", "success"): 2.26,
    ("priority", "earning"): 1.47,
    ("fifo", "earning"): 2.84,
    ("lrt", "earning"): 3.16,
}
# A topology is near the published one if all six ratios are.
NEAR = 0.15


def setting(policy: str, expiry: str, seed: int, minutes: int) -> Setting:
    """One run; a baseline has the expiry that is tried, MTEP its own."""
    own = expiry == OWN_EXPIRY[policy] or policy == "mtep"
    return Setting(policy=policy, expiry="own" if own else expiry, seed=seed, minutes=minutes)


def measure(trial: Trial) -> Findings:
    """Every policy and expiry mode in the same topologies."""
    seeds, minutes = trial.pick(small=(range(3), 8), full=(range(20), 120))
    settings = [
        setting(policy, expiry, seed, minutes)
        for policy in PAPER_NAMES
        for expiry in EXPIRIES
        for seed in seeds
    ]
    runs = all_figures(trial, list(dict.fromkeys(settings)))
    groups = {
        (policy, expiry): [runs[setting(policy, expiry, seed, minutes)] for seed in seeds]
        for policy in PAPER_NAMES
        for expiry in EXPIRIES
    }
    values: dict[str, Value] = {
        f"{PAPER_NAMES[policy].lower()}-{metric}": ratio_of_means(groups, policy, "dead", metric)
        for policy, metric in PUBLISHED
    }
    for metric in METRICS:
        values[f"order-{metric}"] = order(groups, metric)
    values["expiry-fits"] = ", ".join(each for each in EXPIRIES if fits(groups, each))
    values["expiry-near"] = ", ".join(each for each in EXPIRIES if near(groups, each))
    return Findings(values, {"policies": by_topology(groups), "ratios": all_ratios(groups)})


def values_of(groups: Groups, policy: str, expiry: str, metric: str) -> list[float]:
    """One for each topology."""
    return [getattr(each, METRICS[metric]) for each in groups[policy, expiry]]


def ratio_of_means(groups: Groups, policy: str, expiry: str, metric: str) -> float:
    """MTEP over a baseline."""
    ours, other = (fmean(values_of(groups, each, expiry, metric)) for each in ("mtep", policy))
    return ours / other


def ratios(groups: Groups, policy: str, expiry: str, metric: str) -> list[float]:
    """MTEP over a baseline in each topology. A baseline that earns nothing is infinitely worse."""
    pairs = zip(*(values_of(groups, each, expiry, metric) for each in ("mtep", policy)), strict=True)
    return [ours / other if other > 0 else float("inf") for ours, other in pairs]


def fits(groups: Groups, expiry: str) -> bool:
    """Whether each published ratio lies in the middle half of those of the topologies."""
    middles = {key: quantiles(ratios(groups, key[0], expiry, key[1]), n=4) for key in PUBLISHED}
    return all(middles[key][0] <= value <= middles[key][2] for key, value in PUBLISHED.items())


def near(groups: Groups, expiry: str) -> int:
    """The number of topologies in which all six ratios are near the published ones."""
    columns = [
        [abs(ratio / value - 1) <= NEAR for ratio in ratios(groups, policy, expiry, metric)]
        for (policy, metric), value in PUBLISHED.items()
    ]
    return sum(all(row) for row in zip(*columns, strict=True))


def order(groups: Groups, metric: str) -> str:
    """The policies, best first."""
    means = {policy: fmean(values_of(groups, policy, OWN_EXPIRY[policy], metric)) for policy in PAPER_NAMES}
    return " ".join(PAPER_NAMES[policy] for policy in sorted(means, key=means.__getitem__, reverse=True))


def by_topology(groups: Groups) -> Table:
    """Every run."""
    rows: list[tuple[Value, ...]] = [
        (
            PAPER_NAMES[policy],
            expiry,
            seed,
            100 * each.success_rate,
            each.total_earning,
            each.ideal_earning,
            each.ideal,
            each.delivered,
            each.late,
            each.expired,
        )
        for (policy, expiry), found in groups.items()
        if policy != "mtep" or expiry == OWN_EXPIRY["mtep"]
        for seed, each in enumerate(found)
    ]
    columns = ("success_percent", "earning", "ideal_earning", "ideal", "delivered", "late", "expired")
    return Table(("policy", "expiry", "topology", *columns), rows)


def all_ratios(groups: Groups) -> Table:
    """What Fig. 7 says in numbers, for each expiry mode."""
    rows: list[tuple[Value, ...]] = []
    for (policy, metric), published in PUBLISHED.items():
        for expiry in EXPIRIES:
            lower, middle, upper = quantiles(ratios(groups, policy, expiry, metric), n=4)
            means = ratio_of_means(groups, policy, expiry, metric)
            rows.append((PAPER_NAMES[policy], metric, expiry, published, means, lower, middle, upper))
    columns = ("published", "ratio_of_means", "lower_quartile", "median", "upper_quartile")
    return Table(("policy", "metric", "expiry", *columns), rows)


def draw(tables: Mapping[str, Table]) -> Figure:
    """Above: every topology. Below: MTEP over the others, against the published ratios."""
    figure, panels = drawing.canvas(2, 2, high=3.1)
    topologies(panels[0], tables["policies"], "success_percent", "success rate, %")
    topologies(panels[1], tables["policies"], "earning", "total earning, thousands")
    in_thousands(panels[1].yaxis)
    for axes, metric in zip(panels[2:], METRICS, strict=True):
        compared(axes, tables["ratios"], metric)
    drawing.shared_legend(figure, panels[2:], columns=4)
    return figure


def in_thousands(axis: Axis) -> None:
    """Large numbers are easier to read so."""
    axis.set_major_formatter(lambda value, _: f"{value / 1000:g}")


def topologies(axes: Axes, table: Table, column: str, unit: str) -> None:
    """A dot for each topology, and mean and standard deviation."""
    for place, (policy, name) in enumerate(PAPER_NAMES.items()):
        values = table.column(column, policy=name, expiry=OWN_EXPIRY[policy])
        colour = drawing.COLOURS[place]
        axes.plot([place - 0.15] * len(values), values, ".", color=colour, alpha=0.35)
        mean, deviation, *_ = spread(values)
        axes.errorbar([place + 0.15], [mean], [deviation], fmt="o", color=colour, capsize=4)
    axes.set_xticks(range(len(PAPER_NAMES)), [*PAPER_NAMES.values()])
    axes.set_ylim(bottom=0)
    title = "Fig. 7: each topology; mean ± deviation"
    drawing.label(axes, title=title, x="policy (baselines: dead)", y=unit, legend=False)


def compared(axes: Axes, table: Table, metric: str) -> None:
    """The middle half of the topologies for each expiry mode."""
    for shift, expiry in enumerate(EXPIRIES):
        where: dict[str, Value] = {"metric": metric, "expiry": expiry}
        names = [PAPER_NAMES[policy] for policy in BASELINES]
        quartiles = [
            [table.column(column, policy=name, **where)[0] for name in names]
            for column in ("lower_quartile", "median", "upper_quartile")
        ]
        drawn = [place + 0.24 * shift - 0.12 for place in range(len(names))]
        lower, middle, upper = quartiles
        reach = [[b - a for a, b in zip(lower, middle, strict=True)], [0.0] * len(names)]
        reach[1] = [min(b, 1e3) - a for a, b in zip(middle, upper, strict=True)]
        axes.errorbar(
            drawn, middle, reach, fmt="o", color=drawing.COLOURS[shift], capsize=4, label=f"expiry {expiry}"
        )
    places = [float(place) for place in range(len(BASELINES))]
    published = [PUBLISHED[policy, metric] for policy in BASELINES]
    drawing.published_points(axes, [place - 0.36 for place in places], published, "published")
    axes.set_yscale("log")
    axes.set_yticks([1, 2, 3, 5, 10, 20], ["1", "2", "3", "5", "10", "20"])
    axes.minorticks_off()
    axes.set_xticks(places, [PAPER_NAMES[policy] for policy in BASELINES])
    title = f"{metric}: MTEP over the others"
    drawing.label(axes, title=title, x="median and middle half of the topologies", y="ratio", legend=False)
