"""Fig. 11 and 12: two clients of equal share, one of which sends seven times as much for a while.

Both publish 1000 messages per second with a little jitter; the misbehaving one goes to 7000. With shares each
client has its own topic; without them all messages wait in one queue.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from random import Random
from typing import TYPE_CHECKING, Annotated, Any, Literal

from giusto import sim
from giusto.errors import InvalidInput
from giusto.guarantee import fair
from giusto.papers import Findings, Table, Trial, Value, drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NORMAL_RATE, RAISED_RATE = 1_000, 7_000
# What Fig. 10(a) says that a broker can do, and a little less than what is offered here.
WIDE, TIGHT = 10_000, 7_800
# A message is late by up to this part of its interval.
JITTER = Fraction(1, 5)
POLICIES = ("shares", "one queue")
CLIENTS = {"good": "well-behaving", "bad": "misbehaving"}
# From “triples” and “by only 3 ms”.
PUBLISHED = 4.5, "published: 4.5 ms, end to end"
# “Several orders of magnitude” is no number; two are asked for.
ASKED, ASKED_TEXT = 100, "“several orders of magnitude”: 100 × ours before"
MOST = {"capacity": 10**6, "rate": 10**5, "share": 10**6, "contention": 100}
Delays = list[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Setting:
    """One run: how many messages per second the processor takes, how long it lasts, what is misbehaviour."""

    policy: str = "shares"
    capacity: int = TIGHT
    rate: int = RAISED_RATE
    share: int = 1
    seconds: int = 10
    seed: int = 0

    @property
    def service_ns(self) -> int:
        """Of one message."""
        return 10**9 // self.capacity

    @property
    def contention(self) -> tuple[float, float]:
        """When the rate is raised, in seconds; as long as that before, and twice as long after."""
        return float(self.seconds), 2.0 * self.seconds

    def served(self) -> sim.Served:
        """Everything that both clients publish."""
        names = {"good": "good", "bad": "bad"} if self.policy == "shares" else {"good": "all", "bad": "all"}
        rates = {"good": self.share, "bad": 1, "all": 1}
        topics = [
            sim.Topic(name=name, service_ns=self.service_ns, rate=rates[name])
            for name in sorted(set(names.values()))
        ]
        streams = [
            sim.Stream(topic=names[client], client=client, times_ns=self.times_ns(client))
            for client in CLIENTS
        ]
        return sim.serve("fair", topics, streams)

    def run(self) -> dict[str, Delays]:
        """The delays of each client."""
        return by_client(self.served())

    def times_ns(self, client: str) -> list[int]:
        """When a client publishes."""
        rng = Random(f"{client} {self.seed}")
        begin, end = self.contention
        times_ns, at = [], rng.random() / NORMAL_RATE
        while at < 4 * self.seconds:
            interval = 1 / (self.rate if client == "bad" and begin <= at < end else NORMAL_RATE)
            times_ns.append(round((at + rng.random() * float(JITTER) * interval) * 1e9))
            at += interval
        return times_ns

    def bound_ms(self) -> float:
        """(V2) for the well-behaving client; jitter makes a burst of it."""
        service, rate = Fraction(1, self.capacity), Fraction(NORMAL_RATE)
        return float(fair.response([self.share, 1], None, 0, 1 + JITTER, rate, service) * 1000)


def by_client(run: sim.Served) -> dict[str, Delays]:
    """Of each client: when its messages arrived, in seconds, and their delays in ms."""
    found: dict[str, Delays] = {client: [] for client in CLIENTS}
    for done in run.completions:
        found[done.client].append((done.arrived_ns / 1e9, done.delay_ns / 1e6))
    return found


def measure(trial: Trial) -> Findings:
    """With and without shares, at two capacities, with several phases of the two clients."""
    seconds, seeds = trial.pick(small=(1, range(2)), full=(10, range(10)))
    settings = [
        Setting(policy=policy, capacity=capacity, seconds=seconds, seed=seed)
        for policy in POLICIES
        for capacity in (TIGHT, WIDE)
        for seed in seeds
    ]
    runs = {setting: setting.run() for setting in trial.each(settings)}
    means = {
        (policy, capacity, client): mean_figures(runs, policy, capacity, client)
        for policy in POLICIES
        for capacity in (TIGHT, WIDE)
        for client in CLIENTS
    }
    good, bad = (means["shares", TIGHT, client] for client in CLIENTS)
    wide, together = means["shares", WIDE, "bad"], means["one queue", TIGHT, "good"]
    worst_ms = max(
        delay for setting in runs if is_kind(setting, "shares", TIGHT) for _, delay in runs[setting]["good"]
    )
    return Findings(
        {
            "isolation-ratio": good["during_ms"] / good["before_ms"],
            "isolation-increase": good["during_ms"] - good["before_ms"],
            "isolation-bound": worst_ms / Setting(capacity=TIGHT).bound_ms(),
            "isolation-bad": bad["worst_ms"] / bad["before_ms"],
            "isolation-bad-capacity": wide["worst_ms"] / wide["before_ms"],
            "isolation-shares": together["worst_ms"] / good["worst_ms"],
        },
        {
            "isolation": Table(
                ("capacity_per_s", "policy", "client", "time_s", "worst_ms"),
                [
                    (setting.capacity, setting.policy, client, at, worst)
                    for setting, run in runs.items()
                    if setting.seed == 0
                    for client in CLIENTS
                    for at, worst in binned(run[client], 4 * seconds)
                ],
            ),
            "isolation-means": Table(
                ("policy", "capacity_per_s", "client", "before_ms", "during_ms", "worst_ms"),
                [(*key, *found.values()) for key, found in means.items()],
            ),
        },
    )


def is_kind(setting: Setting, policy: str, capacity: int) -> bool:
    """Whether it is one of several runs that differ in their seeds only."""
    return (setting.policy, setting.capacity) == (policy, capacity)


def mean_figures(
    runs: Mapping[Setting, Mapping[str, Delays]], policy: str, capacity: int, client: str
) -> dict[str, float]:
    """The figures of a client, each the mean over all seeds."""
    found = [
        figures(setting, run[client]) for setting, run in runs.items() if is_kind(setting, policy, capacity)
    ]
    return {name: sum(each[name] for each in found) / len(found) for name in found[0]}


def figures(setting: Setting, delays: Delays) -> dict[str, float]:
    """Mean delay before and during the contention, and the worst of all."""
    begin, end = setting.contention
    before = [delay for at, delay in delays if at < begin]
    during = [delay for at, delay in delays if begin <= at < end]
    return {
        "before_ms": sum(before) / len(before),
        "during_ms": sum(during) / len(during),
        "worst_ms": max(delay for _, delay in delays),
    }


def binned(delays: Delays, seconds: int) -> Delays:
    """The worst delay in each of 160 intervals."""
    worst: dict[int, float] = {}
    for at, delay in delays:
        place = min(159, int(at * 160 / seconds))
        worst[place] = max(worst.get(place, 0.0), delay)
    return [((place + 0.5) * seconds / 160, worst[place]) for place in sorted(worst)]


def check(*, capacity: int, rate: int, share: int, contention: int, **_: object) -> None:
    """Refuse what cannot be run."""
    given = {"capacity": capacity, "rate": rate, "share": share, "contention": contention}
    for name, value in given.items():
        if not 1 <= value <= MOST[name]:
            raise InvalidInput(f"--{name}", value, f"a whole number from 1 to {MOST[name]}")


def once(
    *,
    policy: Annotated[
        Literal["shares", "one-queue"], "A topic for each client, or one queue for all."
    ] = "shares",
    capacity: Annotated[int, "Messages per second that the processor takes."] = TIGHT,
    rate: Annotated[int, "Messages per second of the misbehaving client."] = RAISED_RATE,
    share: Annotated[int, "Share of the well-behaving client; the other one has 1."] = 1,
    contention: Annotated[int, "How long the misbehaviour lasts, in seconds."] = 10,
    seed: Annotated[int, "The jitter of both clients."] = 0,
) -> dict[str, Any]:
    """One run: mean delays before and during the contention, and the worst, of each client."""
    given = {"capacity": capacity, "rate": rate, "share": share}
    setting = Setting(policy=policy, seed=seed, seconds=contention, **given)
    run = setting.served()
    result: dict[str, Any] = {"policy": policy, **given, "contention": contention, "seed": seed}
    result["overflow"] = len(run.overflow)
    for client, delays in by_client(run).items():
        result |= {f"{client}_{name}": round(value, 6) for name, value in figures(setting, delays).items()}
    return result


def draw(tables: Mapping[str, Table]) -> Figure:
    """The worst delay of each moment: Fig. 11 at the left, Fig. 12 at the right."""
    figure, panels = drawing.canvas(2, 2, high=2.9, sharex=True)
    cells = [(capacity, client) for capacity in (TIGHT, WIDE) for client in CLIENTS]
    for axes, (capacity, client) in zip(panels, cells, strict=True):
        panel(axes, tables["isolation"], capacity, client)
        if client == "good":
            drawing.published_level(axes, *PUBLISHED)
        else:
            where: dict[str, Value] = {"policy": "shares", "capacity_per_s": capacity, "client": client}
            [before_ms] = tables["isolation-means"].column("before_ms", **where)
            axes.axhline(ASKED * before_ms, color="#64748b", linestyle="-.", label=ASKED_TEXT)
    drawing.shared_legend(figure, panels)
    return figure


def panel(axes: Axes, table: Table, capacity: int, client: str) -> None:
    for colour, policy in enumerate(POLICIES):
        where: dict[str, Value] = {"capacity_per_s": capacity, "policy": policy, "client": client}
        times, worst = table.column("time_s", **where), table.column("worst_ms", **where)
        axes.plot(
            times, worst, color=drawing.COLOURS[colour], linestyle="-" if colour == 0 else "--", label=policy
        )
    if client == "good":
        axes.axhline(Setting(capacity=capacity).bound_ms(), color="#64748b", linestyle=":", label="(V2)")
    seconds = max(table.column("time_s")) / 4
    axes.axvspan(seconds, 2 * seconds, color="#fef3c7", zorder=0, label="7000 messages per second")
    axes.set_yscale("log")
    axes.set_ylim(0.05, 1000)
    axes.set_yticks([0.1, 1, 10, 100, 1000], ["0.1", "1", "10", "100", "1000"])
    where_from = {"good": "Fig. 11", "bad": "Fig. 12"}[client]
    title = f"{where_from}, {CLIENTS[client]}, capacity {capacity:,}/s"
    drawing.label(axes, title=title, x="time, s", y="worst delay, ms", legend=False)
