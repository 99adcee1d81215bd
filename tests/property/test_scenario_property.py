"""Scenarios as TOML: whatever can be said in Python is read back as the same."""

from __future__ import annotations

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
