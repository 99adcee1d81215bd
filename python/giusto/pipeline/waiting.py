"""How long the messages of two topics wait for the processor under an input policy: a small experiment."""

from __future__ import annotations

import random

from giusto.errors import InvalidInput
from giusto.pipeline.experiment import declared
from giusto.sim import Stream, Topic, serve

SERVICE_NS = 1_000_000


def topics(weight: int) -> list[Topic]:
    """The urgent one and the bulky one."""
    return [
        Topic(name="urgent", service_ns=SERVICE_NS, weight=weight, rate=weight, deadline_ns=4 * SERVICE_NS),
        Topic(name="bulky", service_ns=SERVICE_NS, deadline_ns=40 * SERVICE_NS),
    ]


def check(
    policy: str = "twrr", load: float = 0.8, weight: int = 4, messages: int = 500, seed: int = 0
) -> None:
    """Refuse what cannot be served."""
    if not isinstance(load, int | float) or not 0 < load:
        raise InvalidInput("load", load, "a number above 0")
    if not isinstance(messages, int) or messages < 4:
        raise InvalidInput("messages", messages, "a whole number from 4")
    serve(policy, topics(weight), [])


@declared(check=check)
def waiting(
    policy: str = "twrr", load: float = 0.8, weight: int = 4, messages: int = 500, seed: int = 0
) -> dict[str, float | None]:
    """An urgent topic beside a bulky one; both arrive at random and use the processor to `load`.

    `weight` is what the urgent topic has against 1 of the other (`rate` under `fair`). The bulky topic has
    three of four messages. Delays are in ns, from arrival to the end of service.
    """
    check(policy, load, weight, messages)
    chance = random.Random(seed)
    parts = {"urgent": messages // 4, "bulky": messages - messages // 4}
    span_ns = messages * SERVICE_NS / load
    streams = [
        Stream(
            topic=name, client=name, times_ns=sorted(round(chance.uniform(0, span_ns)) for _ in range(count))
        )
        for name, count in parts.items()
    ]
    run = serve(policy, topics(weight), streams)
    found: dict[str, float | None] = {}
    for name in parts:
        delays_ns = run.delays_ns(name)
        found[f"{name}_mean_ns"] = sum(delays_ns) / len(delays_ns)
        found[f"{name}_worst_ns"] = run.worst_ns(name)
    return found
