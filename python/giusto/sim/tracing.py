"""How a simulated run becomes a trace folder: the files that a broker writes, with the scenario's facts."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from giusto import _core
from giusto.sim.network import Broker
from giusto.sim.policy import Input, Output
from giusto.sim.scenario import Scenario
from giusto.sim.topic import Topic
from giusto.trace import Options, TraceWriter, layout
from giusto.trace.facts import Allotment, allotted, limit_of, write_facts


def write_trace(
    folder: Path, scenario: Scenario, seed: int, batches: Iterable[_core.Batch], dropped: int
) -> None:
    """Write the records of a run; what the same scenario and seed left in the folder is replaced.

    A seed is a node of its own in the names of the files, so that runs of other seeds stay.
    """
    node, run, left = f"seed-{seed}", scenario.run_name(seed), iter(batches)
    _clear(folder, scenario, node, run)
    options = Options(folder=str(folder), max_bytes=0)
    writer = TraceWriter(options, lambda: next(left, None), node=node, run=run, wall_offset=lambda: 0)
    writer.drop(dropped)
    writer.stop()
    for broker in scenario.brokers:
        write_facts(folder, facts_of(scenario, broker, run), 1)


def _clear(folder: Path, scenario: Scenario, node: str, run: str) -> None:
    """Remove the files of this run."""
    prefix = layout.prefix_of(node, run)
    (folder / layout.MANIFEST / layout.manifest_name(prefix)).unlink(missing_ok=True)
    for path in (folder / layout.RECORDS).glob(f"{prefix}-*"):
        path.unlink()
    for broker in scenario.brokers:
        name = layout.facts_name(layout.prefix_of(broker.name, run), 1)
        (folder / layout.FACTS / name).unlink(missing_ok=True)


def facts_of(scenario: Scenario, broker: Broker, run: str) -> dict[str, Any]:
    """What a simulated broker allots to the topics that are published there, from the beginning on."""
    policy = None if broker.processor is None else _policy(broker.processor.policy)
    here = [publisher for publisher in scenario.publishers if publisher.broker == broker.name]
    topics = [
        Allotment(topic.name, _weight(topic, policy), tuple(offers), offers)
        for topic in scenario.all_topics
        if (offers := {each.name: limit_of(each.offer) for each in here if each.topic == topic.name})
    ]
    seen = {"run": run, "node": broker.name, "at_ns": 0, "wall_offset_ns": 0}
    quantum = None if broker.processor is None else broker.processor.fragment_bytes
    policies = {"input": policy, "output": _output(scenario, broker)}
    limits = {"fragment_bytes": quantum, "tolerance_ns": 0}
    known = None if _is_fed(scenario, broker) else policy
    return {**seen, **policies, **limits, "topics": allotted(known, topics)}


def _output(scenario: Scenario, broker: Broker) -> str | None:
    """The policies of the links to and from a broker, or of all if it has none: `fifo+mtep` if they differ.

    What ends at a broker was scheduled on the links to it, what expires there on those from it.
    """
    near = [link for link in scenario.links if broker.name in (link.source, link.target)]
    return "+".join(sorted({_policy(link.policy) for link in near or scenario.links})) or None


def _is_fed(scenario: Scenario, broker: Broker) -> bool:
    """Whether links may bring messages: they are clients of the processor too, and nobody says which."""
    is_reached = any(link.target == broker.name for link in scenario.links)
    return is_reached and any(publisher.broker != broker.name for publisher in scenario.publishers)


def _policy(policy: Input | Output) -> str:
    """Its name, also if it is the caller's own."""
    return policy if isinstance(policy, str) else getattr(policy, "__name__", "own")


def _weight(topic: Topic, policy: str | None) -> int | None:
    if policy in ("twrr", "smooth"):
        return topic.weight
    return topic.rate if policy == "fair" else None
