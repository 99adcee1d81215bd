"""Scenarios as TOML: what is wrong in a document is named with its path."""

from __future__ import annotations

from fractions import Fraction

import pytest

from giusto.errors import InvalidInput
from giusto.sim import Broker, Scenario, Topic


def test_a_fraction_keeps_its_value() -> None:
    topic = Topic(name="t", virtual_deadline=Fraction(1, 3))
    scenario = Scenario(until="1s", brokers=[Broker(name="b")], topics=[topic])
    assert 'virtual_deadline = "1/3"' in scenario.to_toml()
    assert Scenario.from_toml(scenario.to_toml()) == scenario


@pytest.mark.parametrize(
    ("text", "field", "expected"),
    [
        ("until = ", "scenario", "a TOML document"),
        ("brokers = []", "until", "a value: it has no default"),
        ('until = "1s"\nbrokers = []\nlink = []', "link", "links, the nearest known name"),
        ('until = "soon"\nbrokers = []', "until", "a duration with its unit"),
        ('until = "1s"\nbrokers = 3', "brokers", "an array of tables"),
        ('until = "1s"\n[[brokers]]', "brokers[0].name", "a value"),
        ('until = "1s"\n[[brokers]]\nname = "b"\nlayr = 1', "brokers[0].layr", "layer, the nearest"),
        (
            'until = "1s"\n[[brokers]]\nname = "b"\nprocessor = { period = "1s" }',
            "brokers[0].processor.period",
            "a budget beside it",
        ),
        (
            'until = "1s"\nbrokers = []\n[[links]]\nsource = "a"\ntarget = "b"\ndelay = { bits_per_s = 1 }',
            "links[0].delay.kind",
            "one of normal, constant, bandwidth",
        ),
        (
            'until = "1s"\nbrokers = []\n[[faults]]\nkind = "lost"\nlink = "a"',
            "faults[0].kind lost",
            "loss, the nearest known name",
        ),
        (
            'until = "1s"\nbrokers = []\n[[publishers]]\nname = "p"\nbroker = "b"\ntopic = "t"\n'
            'workload = { kind = "poisson", rate = -3 }',
            "publishers[0].workload.rate",
            "a rate",
        ),
        (
            'until = "1s"\nbrokers = []\n[[publishers]]\nname = "p"\nbroker = "b"\ntopic = "t"\n'
            'workload = { kind = "poisson", rate = 3 }\noffer = { ratr = 3 }',
            "publishers[0].offer.ratr",
            "rate, the nearest known name",
        ),
        (
            'until = "1s"\nbrokers = []\n[[topics]]\nname = "t"\nvirtual_deadline = "x"',
            "topics[0].virtual_deadline",
            "a fraction",
        ),
    ],
)
def test_a_document_that_is_wrong_is_refused_with_its_path(text: str, field: str, expected: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        Scenario.from_toml(text)
    assert caught.value.field == field
    assert expected in caught.value.expected
