"""Fig. 5 and section IV-B: in which order two topics of rates 2 and 3 are served, and when that is unique.

Both topics have more messages than are looked at. The order comes from the broker's own `fair` policy, in
which the topic that is named first wins a tie.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import groupby
from typing import TYPE_CHECKING

from giusto import sim
from giusto.papers import Findings, Table, Trial, drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

RATES = {"T1": 2, "T2": 3}
SERVICE_NS = 1_000_000
LOOK_AT = 7
PRINTED = {
    "(a), T1 wins ties": "T2 T1 T2 T1 T2 T2 T1",
    "(a), T2 wins ties": "T2 T1 T2 T2 T1 T2 T1",
    "(b)": "T1 T2 T1 T2 T2 T1 T2",
}
SHORT = Fraction(1, 12)


def measure(trial: Trial) -> Findings:
    """Orders for each rule of ties, and for every deadline of T1 below 1/2."""
    steps = trial.pick(small=60, full=600)
    deadlines = [Fraction(n, 2 * steps) for n in range(1, steps)]
    scan = [(deadline, order(("T1", "T2"), deadline)) for deadline in trial.each(deadlines)]
    seen = {
        "(a), T1 wins ties": order(("T1", "T2")),
        "(a), T2 wins ties": order(("T2", "T1")),
        "(b)": order(("T1", "T2"), SHORT),
    }
    limit = max(deadline for deadline, found in scan if found == PRINTED["(b)"])
    many = trial.pick(small=1_000, full=20_000)
    idle = {"forgotten": alert_delay(), "kept": alert_delay_when_tags_are_kept()}
    return Findings(
        {
            "fig5a-first": seen["(a), T1 wins ties"],
            "fig5a-second": seen["(a), T2 wins ties"],
            "fig5b": seen["(b)"],
            "fig5b-unique": order(("T2", "T1"), SHORT) == seen["(b)"],
            "fig5b-deadline": float(limit),
            "fig5b-deadline-true": float(limit),
            "deadline-share": share(many),
            "tag-rule": literal_share(many),
            "tag-rule-idle": idle["forgotten"],
            "priority-order": " ".join(priorities()),
        },
        {
            "schedules": Table(
                ("schedule", "slot", "topic", "printed"),
                [
                    (name, slot, topic, printed)
                    for name, found in seen.items()
                    for slot, (topic, printed) in enumerate(
                        zip(found.split(), PRINTED[name].split(), strict=True), 1
                    )
                ],
            ),
            "schedules-by-deadline": Table(
                ("deadline_of_T1", "order", "as_printed"),
                [(float(deadline), found, found == PRINTED["(b)"]) for deadline, found in scan],
            ),
            "schedules-idle": Table(("tags_at_idle", "delay_in_services"), list(idle.items())),
        },
    )


def served(names: Sequence[str], count: int, deadline: Fraction | None = None) -> list[str]:
    """What is served first if both topics have `count` messages at once; `deadline` is that of T1."""
    topics = [
        sim.Topic(
            name=name,
            service_ns=SERVICE_NS,
            rate=RATES[name],
            virtual_deadline=deadline if name == "T1" else None,
        )
        for name in names
    ]
    streams = [sim.Stream(topic=name, client=name, times_ns=[0] * count, capacity=65_535) for name in names]
    return sim.serve("fair", topics, streams).order()[:count]


def order(names: Sequence[str], deadline: Fraction | None = None) -> str:
    """The first messages, as Fig. 5 lists them."""
    return " ".join(served(names, 20, deadline)[:LOOK_AT])


def share(count: int) -> float:
    """The part of T1 with a short deadline while both topics are busy."""
    return served(("T1", "T2"), count, SHORT).count("T1") / count


def literal_share(count: int) -> float:
    """The same by the printed words alone: virtual time moves to the deadline taken, the next is d later."""
    spacing = {"T1": SHORT, "T2": Fraction(1, 3)}
    deadlines = dict(spacing)
    taken = 0
    for _ in range(count):
        topic = min(deadlines, key=lambda name: deadlines[name])
        deadlines[topic] += spacing[topic]
        taken += topic == "T1"
    return taken / count


ALERT_DEADLINE = Fraction(1, 100)


def alert_delay() -> float:
    """Two alerts 100 s apart, and a flood half a service before the second: its delay in services."""
    topics = [
        sim.Topic(name="alert", service_ns=SERVICE_NS, rate=1, virtual_deadline=ALERT_DEADLINE),
        sim.Topic(name="flood", service_ns=SERVICE_NS, rate=10),
    ]
    second_ns = 100 * 10**9
    streams = [
        sim.Stream(topic="alert", client="a", times_ns=[0, second_ns]),
        sim.Stream(topic="flood", client="b", times_ns=[second_ns - SERVICE_NS // 2] * 30),
    ]
    return sim.serve("fair", topics, streams).delays_ns("alert")[-1] / SERVICE_NS


def alert_delay_when_tags_are_kept() -> float:
    """The same if idle times change nothing: the second alert is chained to the first."""
    virtual = ALERT_DEADLINE
    alert = max(virtual, Fraction(1)) + ALERT_DEADLINE
    flood, ahead = virtual + Fraction(1, 10), 0
    while flood < alert:
        flood += Fraction(1, 10)
        ahead += 1
    # The first of them is half done when the alert comes; its own service ends the delay.
    return ahead - 0.5 + 1


def priorities() -> list[str]:
    """Three messages wait, then an urgent one and two more come: who leaves when (IV-C)."""
    topics = [sim.Topic(name="T1", service_ns=SERVICE_NS)]
    waiting = sim.Stream(topic="T1", client="low", times_ns=[0, 0, 0])
    urgent = sim.Stream(topic="T1", client="high", times_ns=[SERVICE_NS // 2] * 2, priority=7)
    return [done.client for done in sim.serve("fair", topics, [waiting, urgent]).completions]


def draw(tables: Mapping[str, Table]) -> Figure:
    """The three schedules over the printed ones, and which order each deadline gives."""
    figure, (left, right) = drawing.canvas(1, 2, high=3.4)
    strips(left, tables["schedules"])
    by_deadline(right, tables["schedules-by-deadline"])
    return figure


TOPIC_COLOURS = {"T1": drawing.COLOURS[0], "T2": drawing.COLOURS[1]}


def strips(axes: Axes, table: Table) -> None:
    names = list(PRINTED)
    for place, name in enumerate(names):
        ours, printed = table.column("topic", schedule=name), table.column("printed", schedule=name)
        for slot, (mine, theirs) in enumerate(zip(ours, printed, strict=True), 1):
            axes.barh(-place, 0.94, left=slot - 0.47, height=0.5, color=TOPIC_COLOURS[mine])
            axes.text(slot, -place, mine, ha="center", va="center", color="white")
            axes.text(slot, -place + 0.36, theirs, ha="center", va="center", fontsize=7)
    axes.set_yticks([-place for place in range(len(names))], names)
    axes.set_ylim(-len(names) + 0.55, 0.55)
    axes.grid(visible=False)
    drawing.label(axes, title="Fig. 5: ours in colour, printed above", x="message served", y="", legend=False)


def by_deadline(axes: Axes, table: Table) -> None:
    step = table.column("deadline_of_T1")[0]
    orders = [found.split() for found in table.column("order")]
    for slot in range(LOOK_AT):
        start = 0
        for topic, run in groupby(found[slot] for found in orders):
            length = len(list(run))
            bottom = (start + 0.5) * step
            axes.bar(slot + 1, length * step, bottom=bottom, width=0.94, color=TOPIC_COLOURS[topic])
            start += length
    for topic, colour in TOPIC_COLOURS.items():
        axes.bar(0, 0, color=colour, label=topic)
    axes.set_xlim(0.4, LOOK_AT + 0.6)
    axes.axhline(1 / 6, color="black", linewidth=1.2, label="1/6: printed order below")
    axes.set_ylim(0, 0.5)
    axes.grid(visible=False)
    drawing.label(
        axes, title="Order for each deadline of T1", x="message served", y="deadline of T1 (virtual time)"
    )
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=3, frameon=False, fontsize=8)
