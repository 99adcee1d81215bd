"""Models that are published reach the broker, and what it makes of them is heard."""

from __future__ import annotations

import os

import pytest

import giusto
from giusto.broker import Broker
from giusto.config import BrokerConfig, Models
from giusto.models import PREFIX, VERDICT, EnvelopeModel, decode_verdict, encode, topic_of
from giusto.pipeline import models
from giusto.steward import Steward

pa = pytest.importorskip("pyarrow")
MS = 1_000_000
CONFIG = BrokerConfig(listen=("tcp://127.0.0.1:0",), models=Models(listen=True, envelope="apply"))
OFFER = giusto.Offer(min_sep="10ms", max_size=64)


def bursty(excess_ns: int) -> EnvelopeModel:
    """A flow of one message per 10 ms that came so much too early."""
    return EnvelopeModel(
        run="r",
        publisher="monitor",
        topic="alarm",
        count=11,
        since_ns=0,
        until_ns=100 * MS,
        largest_bytes=8,
        min_sep_ns=10 * MS,
        excess_ns=excess_ns,
        broken=3,
    )


def test_a_published_model_is_taken_up_and_said_to_all_who_listen() -> None:
    with (
        Broker(CONFIG) as broker,
        Steward(broker),
        giusto.connect(broker.address, name="monitor") as monitor,
        giusto.connect(broker.address, name="nurse") as nurse,
    ):
        monitor.advertise("alarm", OFFER)
        nurse.subscribe("alarm", giusto.Need(max_latency="1s"))
        verdicts = nurse.subscribe(VERDICT)
        model = bursty(30 * MS)
        nurse.advertise(topic_of(model)).publish(encode(model))
        said = decode_verdict(verdicts.receive(timeout="60s").payload)
        assert (said.kind, said.decision) == ("envelope", "applied")
        (party,) = nurse.publishers("alarm")
        assert party.offer is not None
        assert party.offer.burst == 4
        assert [one.decision for one in nurse.status().models] == ["applied"]
        nurse.advertise(PREFIX + "other").publish(b"no model")
        refused = decode_verdict(verdicts.receive(timeout="60s").payload)
        assert (refused.kind, refused.subject, refused.decision) == ("other", "nurse", "refused")


def test_the_pipeline_publishes_what_its_tables_say() -> None:
    rows = [
        {
            "run": "r",
            "source": os.uname().nodename,
            "target": "nurse",
            "count": 100,
            "mean_ns_per_kb": 5.0,
            "variance": 4.0,
            "normal": True,
            "least_ns": 1,
            "largest_ns": 10**12,
            "recent_count": None,
            "recent_mean_ns_per_kb": None,
            "recent_variance": None,
        }
    ]
    with (
        Broker(CONFIG) as broker,
        Steward(broker),
        giusto.connect(broker.address, name="nurse") as nurse,
    ):
        nurse.advertise("alarm", OFFER)
        nurse.subscribe("alarm", giusto.Need(max_latency="1s"))
        verdicts = nurse.subscribe(VERDICT)
        (model,) = models.publish(broker.address, {"link_model": pa.Table.from_pylist(rows)})
        said = decode_verdict(verdicts.receive(timeout="60s").payload)
        # A quarter of an hour is longer than the second that was promised.
        assert (said.subject, said.decision) == (model.subject, "refused")
        assert "'nurse'" in said.reason
