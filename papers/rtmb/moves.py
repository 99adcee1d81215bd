"""Reconfiguration: levels 4 and 5 become 5 and 6, one flow after the other, while traffic flows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from giusto.guarantee import ports
from giusto.papers import Findings, Table, Trial, drawing

from .switches import MS, Sender, send

if TYPE_CHECKING:
    from matplotlib.figure import Figure

OLD, NEW = (4, 5), (5, 6)
EVERY_MS, FRAMES = 4, 10


def stages(order: Sequence[int]) -> list[tuple[int, ...]]:
    """Levels of both flows before, between and after the moves, when flows move in this order."""
    current = list(OLD)
    found: list[tuple[int, ...]] = [OLD]
    for flow in order:
        current[flow] = NEW[flow]
        found.append(tuple(current))
    return found


def urgent_waits_ms(order: Sequence[int], messages: int) -> list[float]:
    """Waits of the urgent flow, whose frame comes just after a message of ten frames of the other."""
    senders = []
    for stage, (bulk, urgent) in enumerate(stages(order)):
        starts_ns = [(stage * messages + n) * EVERY_MS * MS for n in range(messages)]
        frames_ns = [at_ns for at_ns in starts_ns for _ in range(FRAMES)]
        senders.append(Sender(name=f"bulk{stage}", times_ns=frames_ns, size_bytes=100, level=bulk))
        late_ns = [at_ns + 1 for at_ns in starts_ns]
        senders.append(Sender(name=f"urgent{stage}", times_ns=late_ns, size_bytes=100, level=urgent))
    seen = send(senders)
    return [wait for stage in range(3) for wait in seen.waits_ms(f"urgent{stage}", 0.1)]


def measure(trial: Trial) -> Findings:
    """The printed order, flows of lower priority first, and ours."""
    messages = trial.pick(3, 8)
    moves = ports.reconfiguration(OLD, NEW)
    assert isinstance(moves, list)
    printed = urgent_waits_ms([0, 1], messages)
    ours = urgent_waits_ms([move.flow for move in moves], messages)
    return Findings(
        {"moves": max(printed), "moves-true": max(ours)},
        {
            "moves": Table(
                ("message", "lower_first_ms", "ours_ms"),
                [(n, *pair) for n, pair in enumerate(zip(printed, ours, strict=True))],
            )
        },
    )


def draw(tables: Mapping[str, Table]) -> Figure:
    """Waits of the urgent flow from message to message."""
    figure, (axes,) = drawing.canvas(wide=6)
    table = tables["moves"]
    shown = (
        ("lower_first_ms", "s", "flows of lower priority first, as printed"),
        ("ours_ms", "o", "highest first"),
    )
    for place, (name, mark, text) in enumerate(shown):
        axes.plot(
            table.column("message"),
            table.column(name),
            mark,
            markersize=5 - 2 * place,
            color=drawing.COLOURS[place],
            label=text,
        )
    axes.set_ylim(0, 1.3)
    drawing.label(axes, title="Wait of the urgent flow while two flows move up", x="message", y="wait, ms")
    return figure
