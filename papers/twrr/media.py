"""Fig. 9: delays over three link layers, from sending to the end of forwarding.

Which client and which time the figure shows is not said. Client 1 in its first second, with its greatest
share, is what fits: in other seconds Table I itself has longer delays without any link.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import correlation, fmean, median
from typing import TYPE_CHECKING

from giusto.papers import Findings, Table, Trial, drawing

from . import setting
from .printed import forwarded
from .setting import MS, SECONDS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAMES = {"switched": "switched Ethernet", "can": "CAN", "ethernet": "Ethernet"}
PUBLISHED = {"switched": 0.2160, "can": 0.2160, "ethernet": 0.3120}


def client_delays(messages: Sequence[setting.Message], medium: str) -> list[list[float]]:
    """Delays of client 1 in ms, by the second in which it sent."""
    found: list[list[float]] = [[] for _ in range(SECONDS)]
    for each, end_ns in forwarded(setting.carried(messages, medium)):
        if each.client == 0:
            found[each.second].append((end_ns - each.sent_ns) / MS)
    return found


def measure(trial: Trial) -> Findings:
    """The same messages over each medium, seed by seed."""
    seeds = range(trial.pick(3, 101))
    runs: dict[str, list[list[list[float]]]] = {name: [] for name in NAMES}
    for seed in trial.each(seeds):
        sent = setting.sending(seed)
        for name, found in runs.items():
            found.append(client_delays(sent, name))
    first = {name: sorted(max(each[0]) for each in found) for name, found in runs.items()}
    worst = {name: sorted(max(map(max, each)) for each in found) for name, found in runs.items()}
    means = {
        name: [fmean(map(fmean, second)) for second in zip(*found, strict=True)]
        for name, found in runs.items()
    }
    return Findings(
        {
            **{f"fig9-{name}": median(values) for name, values in first.items()},
            "fig9-worst": median(worst["ethernet"]) > max(median(worst["can"]), median(worst["switched"])),
            "fig9-trend": min(correlation(means["switched"], means[name]) for name in ("can", "ethernet")),
        },
        {
            "media": Table(
                ("medium", "seed", "first_second_max_ms", "five_seconds_max_ms"),
                [
                    (name, seed, max(each[0]), max(map(max, each)))
                    for name, found in runs.items()
                    for seed, each in zip(seeds, found, strict=True)
                ],
            ),
            "media-seconds": Table(
                ("medium", "second", "mean_ms"),
                [(name, second, mean) for name, found in means.items() for second, mean in enumerate(found)],
            ),
        },
    )


def draw(tables: Mapping[str, Table]) -> Figure:
    """Greatest delays of a second over all seeds, and means from second to second."""
    figure, (left, right) = drawing.canvas(1, 2)
    spread(left, tables["media"])
    trend(right, tables["media-seconds"])
    return figure


def spread(axes: Axes, table: Table) -> None:
    for place, name in enumerate(NAMES):
        values = sorted(table.column("first_second_max_ms", medium=name))
        at = [place - 0.2 + 0.4 * n / max(1, len(values) - 1) for n in range(len(values))]
        axes.plot(
            at,
            values,
            ".",
            markersize=3,
            color=drawing.COLOURS[place],
            label="one seed each, sorted" if place == 0 else None,
        )
        axes.plot(
            [place - 0.25, place + 0.25],
            [median(values)] * 2,
            color=drawing.COLOURS[place],
            label="median" if place == 0 else None,
        )
    drawing.published_points(axes, list(range(len(NAMES))), list(PUBLISHED.values()), "published maximum")
    axes.set_ylim(0, 1)
    axes.set_xticks(range(len(NAMES)), list(NAMES.values()))
    title = "Greatest delay of client 1 in its first second"
    drawing.label(axes, title=title, x="", y="sending to forwarded, ms")


def trend(axes: Axes, table: Table) -> None:
    marks = dict(zip(NAMES, ("o-", "s--", "^:"), strict=True))
    for place, name in enumerate(NAMES):
        axes.plot(
            table.column("second", medium=name),
            table.column("mean_ms", medium=name),
            marks[name],
            color=drawing.COLOURS[place],
            label=NAMES[name],
        )
    axes.set_ylim(0, 0.25)
    axes.set_xticks(range(SECONDS), [f"{n}–{n + 1}" for n in range(SECONDS)])
    title = "Mean delay of client 1"
    drawing.label(axes, title=title, x="second", y="sending to forwarded, ms")
