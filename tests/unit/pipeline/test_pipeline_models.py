"""The models that rows of gold tables come to."""

from __future__ import annotations

from typing import Any

import pytest

from giusto.errors import InvalidInput
from giusto.models import EnvelopeModel, LinkModel, QuantumModel, decode, encode, topic_of
from giusto.pipeline import models


def link(**given: Any) -> dict[str, Any]:
    """A row of `link_model`."""
    row = {
        "run": "r",
        "source": "hub",
        "target": "leaf",
        "count": 100,
        "mean_ns_per_kb": 5.0,
        "variance": 4.0,
        "normal": True,
        "least_ns": 1,
        "largest_ns": 9,
        "recent_count": None,
        "recent_mean_ns_per_kb": None,
        "recent_variance": None,
        "recent_normal": None,
    }
    return {**row, **given}


def point(rho_hz: float, sigma: float, **given: Any) -> dict[str, Any]:
    """A row of `arrival_envelope`."""
    row = {
        "run": "r",
        "publisher": "monitor",
        "topic": "alarm",
        "unit": "messages",
        "rho_hz": rho_hz,
        "sigma_messages": sigma,
        "offered": False,
        "min_sep_ns": None,
        "excess_ns": None,
        "closer": 0,
        "kept": None,
        "complete": True,
        "count": 11,
        "largest_bytes": 64,
        "since_ns": 0,
        "until_ns": 10**9,
    }
    return {**row, **given}


def test_a_link_is_as_it_was_most_recently_if_that_can_be_said() -> None:
    recent = link(recent_count=40, recent_mean_ns_per_kb=7.0, recent_variance=1.0, recent_normal=False)
    whole, newest = models.links([link(), recent])
    assert (whole.count, whole.mean_ns_per_kb, whole.variance, whole.normal) == (100, 5.0, 4.0, True)
    assert (newest.count, newest.mean_ns_per_kb, newest.variance, newest.normal) == (40, 7.0, 1.0, False)
    assert newest.largest_ns == 9, "the largest of all"


def test_a_flow_has_its_points_in_order_and_each_of_its_offers_is_a_model() -> None:
    offered = {"min_sep_ns": 10**8, "closer": 2, "kept": False}
    rows = [
        point(20.0, 1.5),
        point(10.0, 3.0),
        point(10.0, 4.0, **offered, offered=True, excess_ns=3 * 10**8),
        point(14.0, 2.0, **offered),
        point(0.0, 0.0, unit="bytes"),
    ]
    plain, under_offer = models.envelopes(rows)
    assert [(one.rho_hz, one.sigma) for one in plain.points] == [(10.0, 3.0), (20.0, 1.5)]
    assert (plain.min_sep_ns, plain.excess_ns, plain.mean_hz) == (None, None, 10.0)
    assert (under_offer.min_sep_ns, under_offer.excess_ns) == (10**8, 3 * 10**8)
    assert (under_offer.closer, under_offer.kept) == (2, False)
    assert [(one.rho_hz, one.sigma) for one in under_offer.points] == [(10.0, 4.0), (14.0, 2.0)]


def test_a_flow_that_keeps_its_offer_is_no_news() -> None:
    said = (
        ({"kept": True}, False),
        ({"kept": True, "excess_ns": 5, "closer": 1}, False),
        ({"kept": False, "excess_ns": 5, "closer": 1}, True),
        ({"kept": None, "excess_ns": 5, "closer": 1}, True),
    )
    for given, is_news in said:
        row = point(10.0, 2.0, offered=True, **{"min_sep_ns": 10**8, "excess_ns": 0, **given})
        assert models.is_news(models.envelope([row])) is is_news, given
    assert models.is_news(models.envelope([point(1.0, 1.0)]))


def test_a_flow_of_which_records_are_missing_is_no_model() -> None:
    gapped = [point(10.0, 3.0, complete=False), point(20.0, 1.5, complete=False)]
    (whole,) = models.envelopes([*gapped, point(10.0, 3.0, publisher="scanner")])
    assert whole.publisher == "scanner"


def test_a_flow_goes_over_the_wire_as_it_always_did() -> None:
    row = point(10.0, 2.0, offered=True, min_sep_ns=10**8, excess_ns=5, closer=3, kept=False)
    payload = encode(models.envelope([row]))
    assert b'"broken":3' in payload
    assert decode(payload) == models.envelope([row])
    # What an earlier pipeline says has no `kept`.
    earlier = decode(payload.replace(b',"kept":false', b""))
    assert isinstance(earlier, EnvelopeModel)
    assert (earlier.closer, earlier.kept) == (3, None)


def test_a_node_has_one_model_of_all_its_quanta() -> None:
    rows = [
        {
            "run": "r",
            "node": node,
            "size_class": size,
            "fan_out": 1,
            "count": 5,
            "mean_ns": 2.0,
            "p99_ns": 3,
            "max_ns": 4,
            "largest_bytes": size - 1,
        }
        for node, size in (("b", 64), ("a", 1_024), ("a", 64))
    ]
    found = list(models.quanta(rows))
    assert [(one.node, [cost.size_bytes for cost in one.costs]) for one in found] == [
        ("a", [63, 1_023]),
        ("b", [63]),
    ]


def test_models_have_topics_of_their_own() -> None:
    (made,) = models.links([link()])
    assert isinstance(decode(encode(made)), LinkModel)
    assert topic_of(made) == "$giusto/model/link"
    assert {EnvelopeModel, QuantumModel}.isdisjoint({type(made)})


@pytest.mark.parametrize(
    "payload", [b"", b"{}", b'{"kind":"link"}', b"\xff", b'{"kind":"other"}', b"[" * 10_000]
)
def test_what_is_no_model_is_refused(payload: bytes) -> None:
    with pytest.raises(InvalidInput, match="model"):
        decode(payload)
