"""Takes a bound apart into what a message waits for, so that people can see where the time goes."""

from __future__ import annotations

from giusto.contract import Part
from giusto.guarantee.blocking import Delay
from giusto.guarantee.model import Setting
from giusto.guarantee.stages.stage import Response
from giusto.guarantee.stream import Stream


def parts_of(setting: Setting, stream: Stream, delay: Delay, found: Response) -> tuple[Part, ...]:
    """The terms of link + response + link, which add up to it.

    What a later message of a backlog gains by coming later is taken from the wait for cells, and from reading
    if that is not enough.
    """
    own_ns = stream.serve_ns
    cells_ns = max(0, found.work_ns - own_ns - found.arrival_ns)
    known_ns = delay.entry_ns + delay.exit_ns + delay.stall_ns + own_ns
    cells_ns = min(cells_ns, max(0, found.total_ns - known_ns))
    terms = (
        Part("link from the publisher", stream.links[0], "N1" if setting.link_in.bits_per_second else "link"),
        Part("blocking", delay.entry_ns, "A3"),
        Part("reading", found.total_ns - known_ns - cells_ns, "Q1" if setting.budget_ns else "R"),
        Part("wait for cells", cells_ns, found.label),
        Part("own quantum", own_ns, "A2"),
        Part("output queue", delay.exit_ns, "flush"),
        Part("stall of the machine", delay.stall_ns, "stall"),
        Part("link to the subscriber", stream.links[1], "N1" if setting.link_out.bits_per_second else "link"),
    )
    return tuple(term for term in terms if term.ns)
