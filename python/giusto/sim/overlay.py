"""Shapes of networks: who is linked to whom, as brokers and links that a scenario takes.

What is random follows from a seed, with one stream per broker and link.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

from giusto.contract.duration import Duration
from giusto.contract.values import whole
from giusto.errors import InvalidInput
from giusto.sim.chance import Chance
from giusto.sim.delay import Constant, Delay
from giusto.sim.network import Broker, Link

Drawn: TypeAlias = Delay | Callable[[Chance], Delay]
"""The delay of every link, or how to draw that of each."""

BROKERS_MAX = 1_000_000


class Overlay(NamedTuple):
    """Brokers and links, for `Scenario(brokers=…, links=…)`."""

    brokers: tuple[Broker, ...]
    links: tuple[Link, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Of the brokers."""
        return tuple(broker.name for broker in self.brokers)

    def layer(self, number: int) -> tuple[str, ...]:
        """The names of the brokers in a layer; layers count from 1, and -1 is the last."""
        numbers = sorted({broker.layer for broker in self.brokers if broker.layer is not None})
        if not numbers:
            raise InvalidInput("layer", number, "brokers with layers: these have none")
        if isinstance(number, bool) or not isinstance(number, int) or abs(number) not in numbers:
            raise InvalidInput("layer", number, f"one of {', '.join(map(str, numbers))}")
        wanted = numbers[number] if number < 0 else number
        return tuple(broker.name for broker in self.brokers if broker.layer == wanted)


def layered(
    sizes: Sequence[int],
    *,
    parents: int | Sequence[int] = 2,
    delay: Drawn = Constant(),  # noqa: B008  frozen
    processing: Duration = 0,
    seed: int = 0,
    **link: Any,
) -> Overlay:
    """Layers of brokers, each broker linked from `parents` random ones of the layer above it.

    `parents` may be said for each layer but the first. Brokers are called `b<layer>.<number>`. What `link`
    says is said of every link: `policy="mtep"`.
    """
    counts = _sizes(sizes)
    layers = [[f"b{n}.{m}" for m in range(1, count + 1)] for n, count in enumerate(counts, 1)]
    degrees = _degrees(parents, counts)
    ends = [
        (parent, child)
        for (upper, lower), degree in zip(pairwise(layers), degrees, strict=True)
        for child in lower
        for parent in Chance(seed, "parents", child).sample(upper, degree)
    ]
    brokers = [
        Broker(name=name, processing=processing, layer=n)
        for n, names in enumerate(layers, 1)
        for name in names
    ]
    return Overlay(tuple(brokers), tuple(_links(ends, delay, seed, link)))


def chain(
    count: int,
    *,
    both_ways: bool = False,
    delay: Drawn = Constant(),  # noqa: B008
    processing: Duration = 0,
    seed: int = 0,
    **link: Any,
) -> Overlay:
    """Brokers `b1`, `b2`, … in a row."""
    names = [f"b{n}" for n in range(1, whole("count", count, 1, BROKERS_MAX) + 1)]
    return _plain(names, pairwise(names), both_ways, delay, processing, seed, link)


def star(
    leaves: int,
    *,
    both_ways: bool = True,
    delay: Drawn = Constant(),  # noqa: B008
    processing: Duration = 0,
    seed: int = 0,
    **link: Any,
) -> Overlay:
    """A broker `hub`, and brokers `b1`, `b2`, … around it."""
    names = [f"b{n}" for n in range(1, whole("leaves", leaves, 1, BROKERS_MAX) + 1)]
    ends = (("hub", name) for name in names)
    return _plain(["hub", *names], ends, both_ways, delay, processing, seed, link)


def tree(
    depth: int,
    *,
    fanout: int = 2,
    both_ways: bool = False,
    delay: Drawn = Constant(),  # noqa: B008
    processing: Duration = 0,
    seed: int = 0,
    **link: Any,
) -> Overlay:
    """A root `b1` and `depth` layers below it, each broker with `fanout` children."""
    fanout = whole("fanout", fanout, 1, BROKERS_MAX)
    count = sum(fanout**level for level in range(whole("depth", depth, 0, 64) + 1))
    names = [f"b{n}" for n in range(1, whole("depth", count, 1, BROKERS_MAX) + 1)]
    ends = ((names[(n - 1) // fanout], names[n]) for n in range(1, count))
    made = _plain(names, ends, both_ways, delay, processing, seed, link)
    if both_ways:
        return made
    layers = [n for n in range(1, depth + 2) for _ in range(fanout ** (n - 1))]
    layered = (replace(each, layer=n) for each, n in zip(made.brokers, layers, strict=True))
    return Overlay(tuple(layered), made.links)


def _plain(
    names: Sequence[str],
    ends: Iterable[tuple[str, str]],
    both_ways: bool,
    delay: Drawn,
    processing: Duration,
    seed: int,
    link: dict[str, Any],
) -> Overlay:
    pairs = list(ends)
    if both_ways:
        pairs = [each for pair in pairs for each in (pair, pair[::-1])]
    brokers = tuple(Broker(name=name, processing=processing) for name in names)
    return Overlay(brokers, tuple(_links(pairs, delay, seed, link)))


def _links(
    ends: Iterable[tuple[str, str]], delay: Drawn, seed: int, options: dict[str, Any]
) -> Iterator[Link]:
    for source, target in ends:
        drawn = delay(Chance(seed, "link", source, target)) if callable(delay) else delay
        yield Link(source=source, target=target, delay=drawn, **options)


def _sizes(sizes: Sequence[int]) -> list[int]:
    """How many brokers each layer has."""
    given = _listed(sizes)
    if not given:
        raise InvalidInput("sizes", sizes, "how many brokers each layer has, such as (4, 8)")
    return [whole(f"sizes[{n}]", size, 1, BROKERS_MAX) for n, size in enumerate(given)]


def _degrees(parents: int | Sequence[int], counts: Sequence[int]) -> list[int]:
    """How many parents the brokers of each layer but the first have."""
    given = [parents] * (len(counts) - 1) if isinstance(parents, int) else _listed(parents)
    if given is None or len(given) != len(counts) - 1:
        expected = f"one number, or {len(counts) - 1}: one for each layer but the first"
        raise InvalidInput("parents", parents, expected)
    return [
        whole(f"parents[{n}]", degree, 1, above)
        for n, (degree, above) in enumerate(zip(given, counts[:-1], strict=True))
    ]


def _listed(values: Iterable[int]) -> list[int] | None:
    """None if it is no list."""
    try:
        return list(values)
    except TypeError:
        return None
