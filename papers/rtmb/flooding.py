"""The experiments of section 6 as simulated switches: best effort and managed, ordinary traffic and floods.

Table 2 is not in the text that is left of S3; sizes, separations and latencies are our choice so that the
load is 815 Mbit/s and T3 may take 8 ms. Every frame is simulated; a message is there when its last frame is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Annotated, Any, Literal

from giusto import sim
from giusto.contract import Offer
from giusto.errors import InvalidInput
from giusto.guarantee import ports
from giusto.papers import Findings, Table, Trial, Value, drawing

from .switches import MS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GIGABIT = 1_000_000_000
FRAME_BYTES = 1538
FRAME_NS = FRAME_BYTES * 8 * 1_000_000_000 // GIGABIT
# Frames that a port holds, the same for both networks. Not told either: without a flood fewer than 50 of them
# lose what the paper loses, and 128 are the first of these with which nothing is lost.
BUFFERS = (8, 16, 24, 32, 40, 48, 64, 80, 96, 128)
SHORT, AMPLE = 32, 128
BUFFER_MAX = 100_000
SEEDS_MAX = 10_000


@dataclass(frozen=True, slots=True)
class Topic:
    """What one publisher sends; a message is `frames` frames."""

    name: str
    frames: int
    min_sep_ns: int
    max_latency_ms: int

    @property
    def load(self) -> float:
        """Bits per second on the wire."""
        return self.frames * FRAME_BYTES * 8 * 1_000_000_000 / self.min_sep_ns


TOPICS = (
    Topic("T1", 49, 2 * MS, 3),
    Topic("T2", 61, 5 * MS // 2, 4),
    Topic("T3", 87, 5 * MS, 8),
)


def levels() -> dict[str, int]:
    """The level that admission gives each topic."""
    port = ports.Port(GIGABIT // 8, levels=8)
    known = {"s1": port}
    assigned: ports.Assigned | None = None
    for topic in TOPICS:
        request = ports.Request(
            topic.name,
            topic.frames * FRAME_BYTES,
            topic.min_sep_ns,
            topic.max_latency_ms * MS,
            [ports.Hop("s1")],
            GIGABIT // 8,
            shortest_frame_bytes=FRAME_BYTES,
            longest_frame_bytes=FRAME_BYTES,
        )
        result = ports.path_admission(request, known)
        if isinstance(result, ports.Denied):
            raise InvalidInput(topic.name, topic, f"a topic that can be admitted: {result.reason}")
        known, assigned = result.ports, result.levels["s1"]
    assert assigned is not None
    return dict(zip(known["s1"].flows, assigned.level, strict=True))


def starts_ns(topic: Topic, until_ns: int, seed: int) -> list[int]:
    """When messages begin: `min_sep` apart, and up to a twentieth more."""
    rng = Random(f"{seed} {topic.name}")
    now_ns, found = rng.randint(0, topic.min_sep_ns), []
    while now_ns < until_ns:
        found.append(now_ns)
        now_ns += topic.min_sep_ns + rng.randint(0, topic.min_sep_ns // 20)
    return found


def workload(topic: Topic, until_ns: int, seed: int, *, floods: bool) -> sim.Workload:
    """When frames are stored in the switch: those of each message, or as many as the link can carry."""
    if floods:
        return sim.Periodic(period=f"{FRAME_NS}ns", jitter=f"{FRAME_NS}ns")
    starts = starts_ns(topic, until_ns, seed)
    return sim.Trace(at_ns=[start + (n + 1) * FRAME_NS for start in starts for n in range(topic.frames)])


def scenario(*, managed: bool, flood: bool, until_ns: int, seed: int, buffer: int) -> sim.Scenario:
    """Three publishers and one port of 1 Gbit/s."""
    level = levels() if managed else {topic.name: 0 for topic in TOPICS}
    publishers = [
        sim.Publisher(
            name=topic.name,
            broker="s1",
            topic=topic.name,
            workload=workload(topic, until_ns, seed, floods=flood and topic.name != "T3"),
            size_bytes=FRAME_BYTES,
            priority=level[topic.name],
            # A message goes out at line rate: its frames are a burst.
            offer=Offer(rate=f"{topic.frames}/{topic.min_sep_ns}ns", burst=topic.frames) if managed else None,
        )
        for topic in TOPICS
    ]
    link = sim.Link(
        source="s1",
        target="host",
        delay=sim.Bandwidth(bits_per_s=GIGABIT),
        policy="priority" if managed else "fifo",
        expiry="none",
        capacity=buffer,
        overflow="drop_new",
    )
    return sim.Scenario(
        name="flooding",
        # The last message begins before the end, its frames come after.
        until=f"{until_ns + 2 * MS}ns",
        brokers=[sim.Broker(name="s1"), sim.Broker(name="host")],
        links=[link],
        publishers=publishers,
        subscribers=[sim.Subscriber(name=topic.name, broker="host", pattern=topic.name) for topic in TOPICS],
    )


def latencies_ms(run: sim.Run, topic: Topic, starts: Sequence[int]) -> list[float | None]:
    """Latency of each message, from its first bit on the wire; None if a frame is missing."""
    message_of = {
        start + (n + 1) * FRAME_NS: message
        for message, start in enumerate(starts)
        for n in range(topic.frames)
    }
    arrived: list[list[int]] = [[] for _ in starts]
    columns = ("publisher", "t_sent_ns", "t_received_ns")
    for row in run.records.select(columns).to_pylist():
        if row["publisher"] == topic.name and row["t_received_ns"] is not None:
            arrived[message_of[row["t_sent_ns"]]].append(row["t_received_ns"])
    return [
        (max(found) - start) / MS if len(found) == topic.frames else None
        for found, start in zip(arrived, starts, strict=True)
    ]


CASES = {
    "best effort": {"managed": False, "flood": False},
    "managed": {"managed": True, "flood": False},
    "best effort, flooded": {"managed": False, "flood": True},
    "managed, flooded": {"managed": True, "flood": True},
}
# Messages of T3 by case and buffer: the latency of each in ms, None if it was lost.
Seen = Mapping[tuple[str, int], Sequence[float | None]]
# Colour, line and size of the markers.
LINES = {
    "best effort": (0, "o-", 8),
    "managed": (1, "s--", 4),
    "best effort, flooded": (0, "^-", 5),
    "managed, flooded": (1, "v--", 5),
}
# What is drawn message by message: best effort as it loses what the paper says, the others with ample room.
SHOWN = {"best effort": SHORT, "managed": AMPLE, "best effort, flooded": AMPLE, "managed, flooded": AMPLE}


def run_case(
    *, managed: bool, flood: bool, until_ns: int, buffer: int, seed: int = 0
) -> tuple[sim.Run, list[float | None]]:
    """One run, and the latencies of T3 in it."""
    asked = scenario(managed=managed, flood=flood, until_ns=until_ns, seed=seed, buffer=buffer)
    run = sim.run(asked, seed)
    return run, latencies_ms(run, TOPICS[2], starts_ns(TOPICS[2], until_ns, seed))


def lost_percent(found: Sequence[float | None]) -> float:
    """Messages that did not arrive."""
    return 100 * found.count(None) / len(found)


def worst_ms(found: Sequence[float | None]) -> float:
    """The longest latency of what arrived."""
    return max((each for each in found if each is not None), default=0.0)


def measure(trial: Trial) -> Findings:
    """T3 in all four cases, each with every buffer."""
    until_ns = trial.pick(100, 2_000) * MS
    wanted = [(case, buffer) for case in CASES for buffer in BUFFERS]
    seen = {
        (case, buffer): run_case(**CASES[case], until_ns=until_ns, buffer=buffer)[1]
        for case, buffer in trial.each(wanted)
    }
    return Findings(
        claims(seen),
        {"flooding": by_message(seen, starts_ns(TOPICS[2], until_ns, 0)), "buffers": by_buffer(seen)},
    )


def claims(seen: Seen) -> dict[str, Value]:
    """What section 6 says; losses and latencies of T3."""
    managed, held = seen["managed", AMPLE], seen["managed, flooded", AMPLE]
    late_ms = max(worst_ms(seen["best effort", buffer]) for buffer in BUFFERS)
    return {
        "best-effort-lost": lost_percent(seen["best effort", SHORT]),
        "best-effort-late": late_ms > TOPICS[2].max_latency_ms,
        "managed-lost": lost_percent(managed),
        "managed-lost-same": lost_percent(seen["managed", SHORT]),
        "managed-latency": worst_ms(managed),
        "flood-best-effort": lost_percent(seen["best effort, flooded", AMPLE]),
        "flood-managed-lost": lost_percent(held),
        "flood-managed-latency": worst_ms(held),
    }


def by_message(seen: Seen, starts: Sequence[int]) -> Table:
    """Every message of T3 in the cases that are drawn; a latency of -1 is a message that was lost."""
    rows = [
        (case, buffer, start_ns / MS, -1.0 if each is None else each)
        for case, buffer in SHOWN.items()
        for start_ns, each in zip(starts, seen[case, buffer], strict=True)
    ]
    return Table(("case", "buffer_frames", "sent_ms", "latency_ms"), rows)


def by_buffer(seen: Seen) -> Table:
    """What is lost, and the longest latency of what is not."""
    rows = [(case, buffer, lost_percent(found), worst_ms(found)) for (case, buffer), found in seen.items()]
    return Table(("case", "buffer_frames", "lost_percent", "latency_max_ms"), rows)


def check(*, buffer: int, milliseconds: int, seed: int, **_: object) -> None:
    """Refuse what cannot be run."""
    if not 1 <= buffer <= BUFFER_MAX:
        raise InvalidInput("--buffer", buffer, f"a whole number from 1 to {BUFFER_MAX}")
    if not 10 <= milliseconds <= 10_000:
        raise InvalidInput("--milliseconds", milliseconds, "a whole number from 10 to 10000")
    if not 0 <= seed < SEEDS_MAX:
        raise InvalidInput("--seed", seed, f"a whole number from 0 to {SEEDS_MAX - 1}")


def once(
    *,
    network: Annotated[Literal["managed", "best-effort"], "Levels and limiters, or neither."] = "managed",
    flood: Annotated[bool, "Whether T1 and T2 are sent as fast as their links allow."] = True,
    buffer: Annotated[int, "Frames that the port holds."] = AMPLE,
    milliseconds: Annotated[int, "How long publishers send."] = 500,
    seed: Annotated[int, "When they send."] = 0,
) -> dict[str, Any]:
    """One run of the flooding experiment: what becomes of T3."""
    until_ns = milliseconds * MS
    managed = network == "managed"
    run, found = run_case(managed=managed, flood=flood, until_ns=until_ns, buffer=buffer, seed=seed)
    return {
        "messages": len(found),
        "lost": found.count(None),
        "latency_max_ms": worst_ms(found),
        "max_latency_ms": TOPICS[2].max_latency_ms,
        "policed_frames": run.counters["policed"],
        "seconds": run.seconds,
    }


def draw(tables: Mapping[str, Table]) -> Figure:
    """Latencies of T3 as messages go by, and messages that are lost, in all four cases."""
    figure, panels = drawing.canvas(2, 2, high=2.5, sharex=True, sharey=True)
    for axes, (case, buffer) in zip(panels, SHOWN.items(), strict=True):
        panel(axes, tables["flooding"], case, buffer)
    drawing.shared_legend(figure, panels)
    return figure


def panel(axes: Axes, table: Table, case: str, buffer: int) -> None:
    sent, latency = table.column("sent_ms", case=case), table.column("latency_ms", case=case)
    there = [(x, y) for x, y in zip(sent, latency, strict=True) if y >= 0 and x < 500]
    lost = [x for x, y in zip(sent, latency, strict=True) if y < 0 and x < 500]
    axes.plot(
        [x for x, _ in there], [y for _, y in there], ".", color=drawing.COLOURS[1], label="a message of T3"
    )
    axes.plot(
        lost, [0.3] * len(lost), "x", markersize=4, color=drawing.COLOURS[0], label="a message that was lost"
    )
    axes.axhline(8, color="black", linestyle="--", linewidth=1, label="max_latency")
    axes.set_ylim(0, 9)
    drawing.label(
        axes, title=f"{case}; {buffer} frames per port", x="sent, ms", y="latency, ms", legend=False
    )


def draw_buffers(tables: Mapping[str, Table]) -> Figure:
    """What is lost with every buffer; markers tell apart lines that lie on each other."""
    figure, (axes,) = drawing.canvas(wide=6.4, high=3.6)
    for case, (colour, style, size) in LINES.items():
        buffers, lost = (
            tables["buffers"].column(name, case=case) for name in ("buffer_frames", "lost_percent")
        )
        axes.plot(buffers, lost, style, markersize=size, color=drawing.COLOURS[colour], label=case)
    drawing.published_level(axes, 48, "published, best effort")
    axes.set_ylim(0, 105)
    title = "Messages of T3 that are lost at 815 Mbit/s, or when T1 and T2 flood"
    drawing.label(axes, title=title, x="buffer of the port, frames", y="lost, %", legend=False)
    axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    return figure
