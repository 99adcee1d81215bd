"""Scenarios: what is read from a document, and what is said about wrong ones."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from giusto.contract import Need, Offer
from giusto.errors import InvalidInput
from giusto.guarantee.model import LinkTerms, Rest
from giusto.planning.reading import from_document, read
from giusto.protocol import ShareTerms

OFFER = {"client": "bed", "topic": "ward/alarm", "min_sep": "10ms"}
NEED = {"client": "nurse", "topic": "ward/+", "max_latency": "5ms"}


def document(**sections: Any) -> dict[str, Any]:
    return {"offer": [OFFER], "need": [NEED], **sections}


def test_offers_and_needs_are_those_of_contracts() -> None:
    scenario = from_document(document())
    assert scenario.offers[0].offer == Offer(min_sep="10ms")
    assert (scenario.offers[0].client, scenario.offers[0].topic) == ("bed", "ward/alarm")
    assert scenario.needs[0].need == Need(max_latency="5ms")
    assert scenario.covered[scenario.needs[0]] == ("ward/alarm",)


def test_an_offer_for_several_topics_is_one_for_each() -> None:
    scenario = from_document(document(offer=[{**OFFER, "topic": ["ward/a", "ward/b"]}]))
    assert [offered.topic for offered in scenario.offers] == ["ward/a", "ward/b"]
    assert scenario.covered[scenario.needs[0]] == ("ward/a", "ward/b")


def test_settings_of_broker_and_guarantee_become_the_setting_of_the_bounds() -> None:
    scenario = from_document(
        document(
            broker={"input": "any", "mode": "time", "period": "1ms", "budget": "600us"},
            guarantee={
                "tolerance": "2ms",
                "slice": "50us",
                "stall": "include",
                "link_delay_out": "30us",
                "link_bandwidth_in": "1.5Gbit/s",
            },
            rest={"fanout": 3, "max_size": 1000},
            topic=[{"name": "ward/alarm", "weight": 4}],
        )
    )
    setting = scenario.setting("fair")
    # A time-driven broker reads a whole period at once.
    assert (scenario.input, setting.tolerance_ns, scenario.rest) == (
        "any",
        3_000_000,
        Rest(fanout=3, size_bytes=1000),
    )
    assert (setting.period_ns, setting.budget_ns, setting.slice_ns) == (1_000_000, 600_000, 50_000)
    assert setting.include_stall
    hop_ns = scenario.costs.hop_ns
    assert setting.link_in == LinkTerms(delay_ns=hop_ns, bits_per_second=1_500_000_000)
    assert setting.link_out == LinkTerms(delay_ns=30_000 + hop_ns)
    assert scenario.shares == (("ward/alarm", ShareTerms(weight=4)),)


@pytest.mark.parametrize(
    ("sections", "field", "expected"),
    [
        ({"offers": []}, "offers", "offer, the nearest known name"),
        ({"offer": {"client": "a"}}, "offer", "an array of tables: [[offer]]"),
        ({"offer": [3]}, "offer[0]", "a table: [[offer]]"),
        ({"offer": [OFFER, {**OFFER, "client": ""}]}, "offer[1].client", "a text"),
        ({"offer": [{"topic": "a"}]}, "offer[0].client", "a text"),
        ({"offer": [{**OFFER, "topic": "ward/+"}]}, "offer[0].topic", "without wildcards"),
        ({"offer": [{**OFFER, "topic": []}]}, "offer[0].topic", "or several"),
        ({"offer": [{**OFFER, "topic": ["a", 3]}]}, "offer[0].topic", "a text"),
        ({"offer": [{**OFFER, "min_sap": "1ms"}]}, "offer[0].min_sap", "min_sep, the nearest"),
        ({"offer": [OFFER, {**OFFER, "client": "b", "min_sep": "0ms"}]}, "offer[1].min_sep", "more than 0"),
        ({"offer": [{**OFFER, "min_sep": "100years"}]}, "offer[0].min_sep", "a duration"),
        ({"offer": [{**OFFER, "rate": "5/s"}]}, "offer[0].rate", "not both"),
        ({"offer": [{**OFFER, "burst": 0}]}, "offer[0].burst", "a whole number"),
        ({"offer": [{**OFFER, "max_sep": "1ms"}]}, "offer[0].max_sep", "leaves between two messages"),
        ({"offer": [{**OFFER, "min_sep": [1]}]}, "offer[0].min_sep", "a duration"),
        ({"offer": [OFFER, OFFER]}, "offer[1].topic", "offers this one in offer[0] already"),
        ({"need": []}, "need", "at least one [[need]]"),
        ({"need": [{**NEED, "max_latency": "-1ms"}]}, "need[0].max_latency", "more than 0"),
        ({"need": [{**NEED, "topic": "a/#/b"}]}, "need[0].topic", ""),
        ({"need": [{**NEED, "topic": "wurd/alarm"}]}, "need[0].topic", "is offered"),
        ({"need": [{**NEED, "latency": "1ms"}]}, "need[0].latency", "max_latency, the nearest"),
        ({"need": [{**NEED, "price": 3}]}, "need[0].price", "a deadline beside it"),
        ({"topic": [{"weight": 3}]}, "topic[0].name", "a text"),
        ({"topic": [{"name": "a", "weight": 0}]}, "topic[0].weight", "from 1 to 65535"),
        ({"topic": [{"name": "a", "wait": 1}]}, "topic[0].wait", "weight, the nearest"),
        (
            {"topic": [{"name": "a", "rate": 2, "virtual_deadline": 2**60}]},
            "topic[0].virtual_deadline",
            "at most 1/rate",
        ),
        ({"topic": [{"name": "a"}, {"name": "a"}]}, "topic[1].name", "no other [[topic]]"),
        ({"broker": {"input": "fifo"}}, "broker.input", "twrr or smooth or fair or edf or any"),
        ({"broker": {"listen": "tcp://x:1"}}, "broker.listen", "one of input"),
        ({"broker": {"period": "1ms"}}, "broker.period", 'mode = "time" beside it'),
        ({"broker": {"mode": "time"}}, "broker.mode", "period"),
        (
            {"broker": {"mode": "time", "period": "1ms", "budget": "2ms"}},
            "broker.budget",
            "within the period of 1 ms",
        ),
        ({"guarantee": {"calibration": "no/such/file.json"}}, "calibration", ""),
        ({"guarantee": {"link_bandwidth_in": "1Gb"}}, "guarantee.link_bandwidth_in", "1Gbit/s"),
        ({"guarantee": {"stall": "yes"}}, "guarantee.stall", "exclude or include"),
        ({"guarantee": 3}, "guarantee", "a table"),
        ({"rest": {"fanout": -1}}, "rest.fanout", "a whole number"),
    ],
)
def test_what_is_wrong_is_named_with_its_path(sections: dict[str, Any], field: str, expected: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        from_document(document(**sections))
    assert raised.value.field == field
    assert expected in raised.value.expected


@pytest.mark.parametrize("text", ["[offer", "\x00", "need = 3"])
def test_what_is_no_scenario_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "scenario.toml"
    path.write_text(text)
    with pytest.raises(InvalidInput):
        read(path)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=re.escape(str(tmp_path / "none.toml"))):
        read(tmp_path / "none.toml")
