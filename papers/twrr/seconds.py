"""Fig. 10 and Table I: delays in the broker from second to second, as memberships and so shares change.

What fits Table I: one message per interval of the whole system, not of each client, and a broker that takes
0.001 ms for every look, also at an empty queue. Both readings are run, and giusto's own broker beside them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from statistics import fmean, median
from typing import TYPE_CHECKING, Annotated, Any, Literal

from giusto import sim
from giusto.errors import InvalidInput
from giusto.papers import Findings, Table, Trial, drawing

from . import setting
from .printed import forwarded
from .setting import CLIENTS, MS, SEARCH_NS, SECONDS, S, matrix_in

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PUBLISHED_MEAN = (0.0640, 0.0778, 0.1077, 0.0711, 0.0977)
PUBLISHED_MAX = (0.1320, 0.1950, 0.3600, 0.1530, 0.3120)
# Weights of other topics that give client 1 the same shares, second by second.
OTHER_WEIGHTS = (
    (10, 10, 10, 10, 10),
    (10, 7, 7, 4, 4),
    (4, 4, 4, 1, 1),
    (10, 10, 10, 7, 4),
    (10, 4, 4, 4, 1),
)
SEEDS_MAX = 10_000
# (client, second): delays in ms
Delays = dict[tuple[int, int], list[float]]


Forwarded = list[tuple[setting.Message, int]]


def printed(sent: Sequence[setting.Message], medium: str) -> Forwarded:
    """What the broker of the paper forwards, and when."""
    return list(forwarded(setting.carried(sent, medium)))


def delays(served: Forwarded) -> Delays:
    """Delays in the broker, by client and by second."""
    return grouped((each.client, each.second, end_ns - each.arrived_ns) for each, end_ns in served)


def means_of_others(served: Forwarded) -> list[float]:
    """Mean delays of a client that publishes the other topics, at the delays that each weight has."""
    found: dict[int, list[float]] = {weight: [] for weight in setting.WEIGHTS}
    for each, end_ns in served:
        found[setting.WEIGHTS[each.topic]].append((end_ns - each.arrived_ns) / MS)
    means = {weight: fmean(delays_ms) for weight, delays_ms in found.items()}
    return [fmean(means[weight] for weight in weights) for weights in OTHER_WEIGHTS]


def ours(messages: Sequence[setting.Message], medium: str) -> Delays:
    """The same in giusto's broker, in a simulated network with that medium."""
    processor = sim.Processor(policy="twrr", search=f"{SEARCH_NS}ns", fragment_bytes=setting.FRAME_BYTES)
    broker = sim.Broker(name="broker", processor=processor)
    run = sim.run(setting.network(messages, medium, broker))
    return grouped(
        (client, sent_ns // S, end_ns - ingress_ns)
        for (client, _), sent_ns, ingress_ns, end_ns in setting.deliveries(run)
    )


def grouped(found_ns: Iterable[tuple[int, int, int]]) -> Delays:
    """By client and second, in ms."""
    found: Delays = {(client, second): [] for second in range(SECONDS) for client in range(CLIENTS)}
    for client, second, delay_ns in found_ns:
        found[client, second].append(delay_ns / MS)
    return found


def measure(trial: Trial) -> Findings:
    """Means and maxima of every second: medians and spread over seeds."""
    looking: list[Delays] = []
    own: list[Delays] = []
    others: list[list[float]] = []
    for seed in trial.each(range(trial.pick(3, 101))):
        sent = setting.sending(seed)
        served = printed(sent, "switched")
        looking.append(delays(served))
        others.append(means_of_others(served))
        own.append(ours(sent, "switched"))
    loaded = [setting.sending(seed, each=True) for seed in range(trial.pick(1, 9))]
    busy = [ours(sent, "switched") for sent in loaded]
    heavy = [delay for sent in loaded for delay in delays(printed(sent, "switched"))[0, 0]]
    rows = [row(client, second, looking, own, busy) for second in range(SECONDS) for client in range(CLIENTS)]
    table = Table(COLUMNS, rows)
    first = {name: table.column(name, client=1) for name in COLUMNS}
    other = [median(means) for means in zip(*others, strict=True)]
    return Findings(
        {
            **{f"mean-{n}": first["mean_ms"][n] for n in range(SECONDS)},
            **{f"max-{n}": first["max_ms"][n] for n in range(SECONDS)},
            "mean-others": 100
            * max(abs(mean / said - 1) for mean, said in zip(other, PUBLISHED_MEAN, strict=True)),
            "mean-each": fmean(heavy),
            "mean-falls": falls(table, "mean_ms"),
            "max-falls": falls(table, "max_ms"),
            "mean-falls-ours": falls(table, "ours_mean_ms"),
            "mean-falls-busy": falls(table, "busy_mean_ms"),
        },
        {"seconds": table},
    )


COLUMNS = (
    "second",
    "client",
    "theta_percent",
    "mean_ms",
    "mean_low_ms",
    "mean_high_ms",
    "max_ms",
    "max_low_ms",
    "max_high_ms",
    "ours_mean_ms",
    "ours_max_ms",
    "busy_mean_ms",
)


def row(
    client: int, second: int, looking: Sequence[Delays], own: Sequence[Delays], busy: Sequence[Delays]
) -> tuple[int | float, ...]:
    """One client in one second, over all seeds."""
    means = sorted(fmean(each[client, second]) for each in looking)
    worst = sorted(max(each[client, second]) for each in looking)
    own_means = [fmean(each[client, second]) for each in own]
    own_worst = [max(each[client, second]) for each in own]
    return (
        second,
        client + 1,
        100 * share(client, second),
        *(median(means), means[0], means[-1]),
        *(median(worst), worst[0], worst[-1]),
        *(median(own_means), median(own_worst)),
        median(fmean(each[client, second]) for each in busy),
    )


def share(client: int, second: int) -> float:
    """θ."""
    quanta = [
        sum(weight * entry for weight, entry in zip(setting.WEIGHTS, line, strict=True))
        for line in matrix_in(second)
    ]
    return quanta[client] / sum(quanta)


def falls(table: Table, name: str) -> bool:
    """Whether a greater share always means a shorter delay: means over the clients and seconds of a share."""
    shares = sorted(set(table.column("theta_percent")))
    ordered = [fmean(table.column(name, theta_percent=theta)) for theta in shares]
    return all(more > less for more, less in pairwise(ordered))


def check(*, seed: int, **_: object) -> None:
    """Refuse what cannot be run."""
    if not 0 <= seed < SEEDS_MAX:
        raise InvalidInput("--seed", seed, f"a whole number from 0 to {SEEDS_MAX - 1}")


def once(
    *,
    medium: Annotated[Literal["switched", "can", "ethernet"], "The link layer."] = "switched",
    broker: Annotated[Literal["printed", "giusto"], "Whether empty queues are looked at."] = "printed",
    each: Annotated[bool, "Each client sends at intervals of 0 to 1 ms, not all together."] = False,
    seed: Annotated[int, "All draws."] = 0,
) -> dict[str, Any]:
    """Five seconds: mean and greatest delay of client 1 in the broker, second by second."""
    sent = setting.sending(seed, each=each)
    found = delays(printed(sent, medium)) if broker == "printed" else ours(sent, medium)
    told: dict[str, Any] = {"messages": len(sent), "forwarded": sum(map(len, found.values()))}
    for second in range(SECONDS):
        delays_ms = found[0, second]
        told[f"theta_{second}_percent"] = 100 * share(0, second)
        told[f"mean_{second}_ms"] = fmean(delays_ms)
        told[f"max_{second}_ms"] = max(delays_ms)
    return told


def draw(tables: Mapping[str, Table]) -> Figure:
    """Table I beside ours, and all clients over θ."""
    figure, (left, middle, right) = drawing.canvas(1, 3, wide=4.2)
    table = tables["seconds"]
    by_second(left, table, "mean", PUBLISHED_MEAN, "Mean delay of client 1")
    by_second(middle, table, "max", PUBLISHED_MAX, "Greatest delay of client 1")
    by_share(right, table)
    return figure


def by_second(axes: Axes, table: Table, name: str, published: Sequence[float], title: str) -> None:
    at = list(range(SECONDS))
    middle, low, high = (table.column(f"{name}{part}_ms", client=1) for part in ("", "_low", "_high"))
    below = [value - least for value, least in zip(middle, low, strict=True)]
    above = [most - value for value, most in zip(middle, high, strict=True)]
    axes.errorbar(
        at,
        middle,
        [below, above],
        fmt="o",
        color=drawing.COLOURS[0],
        capsize=4,
        label="looks at empty queues: median, all seeds",
    )
    axes.plot(
        at,
        table.column(f"ours_{name}_ms", client=1),
        "^",
        color=drawing.COLOURS[1],
        label="giusto’s broker, median",
    )
    drawing.published_points(axes, [x + 0.12 for x in at], list(published), "Table I")
    axes.set_ylim(0, max(high) * 1.45)
    axes.set_xticks(at, [f"{n}–{n + 1} s\nθ {share(0, n):.1%}" for n in at])
    drawing.label(axes, title=title, x="", y="delay in the broker, ms")


def by_share(axes: Axes, table: Table) -> None:
    axes.plot(
        table.column("theta_percent"),
        table.column("max_ms"),
        "o",
        markersize=4,
        color=drawing.COLOURS[0],
        label="six clients, five seconds: medians",
    )
    points = [100 * share(0, second) for second in range(SECONDS)]
    drawing.published_points(axes, points, list(PUBLISHED_MAX), "Table I")
    axes.set_ylim(0, None)
    drawing.label(axes, title="Greatest delay of a second", x="θ, %", y="delay in the broker, ms")
