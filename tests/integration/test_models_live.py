"""Models that are published reach the broker, and what it makes of them is heard."""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import replace

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


def bursty(excess_ns: int, run: str) -> EnvelopeModel:
    """A flow of one message per 10 ms that came so much too early."""
    return EnvelopeModel(
        run=run,
        publisher="monitor",
        topic="alarm",
        count=11,
        since_ns=0,
        until_ns=100 * MS,
        largest_bytes=8,
        min_sep_ns=10 * MS,
        excess_ns=excess_ns,
        closer=3,
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
        model = bursty(30 * MS, broker.run_id)
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


def rows(run: str) -> list[dict[str, object]]:
    """A link that is far too slow."""
    return [
        {
            "run": run,
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
            "recent_normal": None,
        }
    ]


def test_the_pipeline_publishes_what_its_tables_say() -> None:
    with (
        Broker(CONFIG) as broker,
        Steward(broker),
        giusto.connect(broker.address, name="nurse") as nurse,
    ):
        nurse.advertise("alarm", OFFER)
        nurse.subscribe("alarm", giusto.Need(max_latency="1s"))
        verdicts = nurse.subscribe(VERDICT)
        (model,) = models.publish(broker.address, {"link_model": pa.Table.from_pylist(rows(broker.run_id))})
        said = decode_verdict(verdicts.receive(timeout="60s").payload)
        # A quarter of an hour is longer than the second that was promised.
        assert (said.subject, said.decision) == (model.subject, "refused")
        assert "'nurse'" in said.reason


def test_models_are_of_this_run_and_of_who_may_have_them() -> None:
    config = replace(CONFIG, models=Models(listen=True, envelope="apply", sources=("$pipeline",)))
    with (
        Broker(config) as broker,
        Steward(broker),
        giusto.connect(broker.address, name="monitor") as monitor,
        giusto.connect(broker.address, name="$pipeline-1") as pipeline,
    ):
        monitor.advertise("alarm", OFFER)
        verdicts = monitor.subscribe(VERDICT)
        for bus, run in ((monitor, broker.run_id), (pipeline, "another"), (pipeline, broker.run_id)):
            publisher = bus.advertise(PREFIX + "envelope")
            publisher.publish(encode(bursty(30 * MS, run)))
            said = decode_verdict(verdicts.receive(timeout="60s").payload)
            assert said.decision == ("applied" if (bus, run) == (pipeline, broker.run_id) else "kept")
            publisher.unadvertise()


def test_models_are_heard_again_after_the_connection_was_lost() -> None:
    first = Broker(CONFIG)
    first.start()
    again = replace(CONFIG, listen=(first.address.replace("giusto://", "tcp://"),))
    steward = Steward(first)
    steward.start()
    first.stop()
    with Broker(again) as second, giusto.connect(second.address, name="nurse") as nurse:
        verdicts = nurse.subscribe(VERDICT)
        model = nurse.advertise(PREFIX + "envelope")
        until = time.monotonic() + 60
        heard = None
        while heard is None and time.monotonic() < until:
            # Whoever listens comes back when it does: what was published before is nobody's.
            model.publish(b"no model")
            with contextlib.suppress(giusto.TimedOut):
                heard = decode_verdict(verdicts.receive(timeout="100ms").payload)
        steward.stop()
    assert heard is not None
    assert heard.decision == "refused"
