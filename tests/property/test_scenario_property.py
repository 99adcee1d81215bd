"""Scenarios as TOML: whatever can be said in Python is read back as the same."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from giusto import Offer
from giusto.errors import InvalidInput
from giusto.sim import (
    Attribute,
    Bandwidth,
    Broker,
    BrokerDown,
    Can,
    Constant,
    Ethernet,
    Greedy,
    Link,
    LinkDown,
    Loss,
    Normal,
    Periodic,
    Poisson,
    Processor,
    Publisher,
    Scenario,
    Spike,
    Subscriber,
    Switched,
    Topic,
    Trace,
    Uniform,
)
from giusto.sim.reading import from_document

texts = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
spans = st.integers(0, 10**15).map(lambda ns: f"{ns}ns") | st.floats(0, 1e4)
positive = st.integers(1, 10**15).map(lambda ns: f"{ns}ns")
rates = st.integers(1, 10**6) | st.builds("{}/{}us".format, st.integers(1, 99), st.integers(1, 99))
numbers = st.floats(-1e9, 1e9) | st.integers(-(2**40), 2**40)
counts = st.integers(0, 2**32)
ranges = counts | st.tuples(counts, counts)


def maybe(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | values


def several(values: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(values, max_size=3)


def window(make: Callable[..., Any], **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.builds(make, start=spans, end=maybe(spans), **fields)


delays = st.one_of(
    st.builds(Normal, mean_per_kb=spans, deviation_per_kb=spans),
    st.builds(Constant, delay=spans),
    st.builds(Bandwidth, bits_per_s=counts, overhead_bytes=counts, least_bytes=counts),
)
workloads = st.one_of(
    st.builds(Periodic, period=positive, phase=maybe(spans), jitter=spans),
    st.builds(Poisson, rate=rates),
    st.builds(Uniform, low=spans, high=positive),
    st.builds(Greedy, rate=rates, burst=counts),
    st.builds(Trace, at_ns=several(counts)),
)
processors = st.builds(Processor, policy=texts, search=spans, capacity=counts) | st.builds(
    Processor, period=positive, budget=positive
)
offers = st.builds(Offer, rate=rates, burst=st.integers(1, 9), jitter=spans) | st.builds(
    Offer, min_sep=positive
)
scenarios = st.builds(
    Scenario,
    until=positive,
    name=texts,
    brokers=several(
        st.builds(
            Broker, name=texts, processing=spans, processor=maybe(processors), layer=maybe(st.integers(0, 9))
        )
    ),
    links=several(
        st.builds(
            Link,
            source=texts,
            target=texts,
            name=maybe(texts),
            delay=delays,
            propagation=spans,
            medium=maybe(texts),
            policy=texts,
            expiry=maybe(texts),
            epsilon=numbers,
            weight=numbers,
            mean_transmission=maybe(spans),
            capacity=counts,
            overflow=texts,
        )
    ),
    publishers=several(
        st.builds(
            Publisher,
            name=texts,
            broker=texts,
            topic=texts,
            workload=workloads,
            size_bytes=ranges,
            priority=ranges,
            timeout=maybe(positive),
            delay=spans,
            attributes=several(st.builds(Attribute, name=texts, low=numbers, high=numbers)),
            windows=several(st.tuples(spans, spans)),
            offer=maybe(offers),
        )
    ),
    subscribers=several(
        st.builds(
            Subscriber,
            name=texts,
            broker=texts,
            pattern=texts,
            filter=maybe(texts),
            deadline=maybe(positive),
            price=numbers,
            penalty=numbers,
            delay=spans,
        )
    ),
    topics=several(
        st.builds(
            Topic,
            name=texts,
            service_ns=counts,
            weight=counts,
            virtual_deadline=maybe(st.fractions(0, 1, max_denominator=10**6)),
        )
    ),
    media=several(
        st.builds(Ethernet, name=texts, slot=positive, gap=spans, attempts=counts)
        | st.builds(Can, name=texts)
        | st.builds(Switched, name=texts)
    ),
    faults=several(
        window(LinkDown, link=texts)
        | window(BrokerDown, broker=texts)
        | window(Spike, link=texts, factor=numbers, extra=spans)
        | window(Loss, link=texts, probability=numbers)
    ),
)


@given(scenarios)
def test_a_scenario_is_read_back_as_it_was_written(scenario: Scenario) -> None:
    assert Scenario.from_toml(scenario.to_toml()) == scenario


@given(scenarios)
def test_a_check_ends_well_or_with_the_path_of_a_field(scenario: Scenario) -> None:
    try:
        scenario.check()
    except InvalidInput as error:
        first = error.field.partition("[")[0]
        assert first in ("brokers", "links", "publishers", "subscribers", "topics", "media", "faults")


plain_values = st.recursive(
    st.one_of(
        st.booleans(),
        st.integers(-(2**70), 2**70),
        st.floats(),
        st.sampled_from(["", "b1", "20ms", "-1s", "5/s", "fifo", "x <", "a/#", "\x00"]),
        st.datetimes(),
    ),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["kind", "name", "x"]), inner)
    ),
    max_leaves=4,
)


def places(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """The paths of everything in a document."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [*([path] if path else []), *(each for key, item in inner for each in places(item, (*path, key)))]


@given(st.data())
def test_a_document_with_a_wrong_value_is_refused_and_nothing_else_happens(data: st.DataObject) -> None:
    document = tomllib.loads(DOCUMENT)
    *path, last = data.draw(st.sampled_from(places(document)))
    holder: Any = document
    for key in path:
        holder = holder[key]
    holder[last] = data.draw(plain_values)
    refused = None
    try:
        from_document(document).check()
    except InvalidInput as error:
        refused = error
    assert refused is None or (refused.field and refused.expected)


DOCUMENT = """
until = "1s"

[[brokers]]
name = "b1"
processing = "1ms"
layer = 1
[brokers.processor]
policy = "twrr"
fragment_bytes = 100
search = "1us"
capacity = 5
period = "2ms"
budget = "1ms"

[[brokers]]
name = "b2"
layer = 2

[[links]]
source = "b1"
target = "b2"
name = "wire"
delay = { kind = "normal", mean_per_kb = "1ms", deviation_per_kb = "1ms" }
propagation = "1ms"
medium = "ether"
policy = "mtep"
expiry = "eps"
epsilon = 0.1
weight = 0.2
mean_transmission = "1ms"
capacity = 10
overflow = "drop_new"

[[publishers]]
name = "p"
broker = "b1"
topic = "t"
workload = { kind = "periodic", period = "10ms", phase = "1ms", jitter = "1ms" }
size_bytes = [10, 20]
priority = 3
timeout = "1s"
delay = "1ms"
attributes = [{ name = "x", low = 0.0, high = 1.0 }]
windows = [["0s", "1s"]]
offer = { rate = "100/s", burst = 3, jitter = "1ms" }

[[publishers]]
name = "q"
broker = "b1"
topic = "t"
workload = { kind = "trace", at_ns = [1, 2] }

[[publishers]]
name = "r"
broker = "b1"
topic = "t"
workload = { kind = "greedy", rate = 5, burst = 3 }

[[subscribers]]
name = "s"
broker = "b2"
pattern = "t"
filter = "x < 3"
deadline = "1s"
price = 1.0
penalty = 0.5
delay = "1ms"

[[topics]]
name = "t"
service_ns = 1000
weight = 2
rate = 2
virtual_deadline = "1/3"
period_ns = 5
deadline_ns = 5

[[media]]
kind = "ethernet"
name = "ether"
slot = "1us"
gap = "1us"
attempts = 3

[[faults]]
kind = "spike"
link = "wire"
factor = 2.0
extra = "1ms"
start = "1ms"
end = "2ms"

[[faults]]
kind = "loss"
link = "wire"
probability = 0.5

[[faults]]
kind = "broker_down"
broker = "b1"
"""


def test_the_document_that_is_made_wrong_is_right() -> None:
    from_document(tomllib.loads(DOCUMENT)).check()
