"""A live bus, from records to verdict: the audit says of a subscription what its own report says."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.spark.records import plain

import giusto
from giusto.broker import Broker
from giusto.client.report import TopicReport
from giusto.config import BrokerConfig, Trace
from giusto.contract import Need, Offer
from giusto.pipeline.tables import bronze, silver
from giusto.pipeline.tables.catalog import table
from giusto.pipeline.tables.table import Inputs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

MESSAGES = 10
NEED = Need(max_latency="50ms")


def live(folder: Path) -> TopicReport:
    """A nurse reads some alarms at once, and some too late; broker and nurse keep records."""
    config = BrokerConfig(listen=("tcp://127.0.0.1:0",), trace=Trace(folder=str(folder)))
    with (
        Broker(config) as broker,
        giusto.connect(broker.address, name="monitor") as monitor,
        giusto.connect(broker.address, name="nurse", trace=str(folder)) as nurse,
    ):
        publisher = monitor.advertise("alarm", Offer(rate="1000/s", burst=2 * MESSAGES, max_size=64))
        alarms = nurse.subscribe("alarm", NEED)
        for _ in range(MESSAGES):
            publisher.publish(b"SpO2 low")
            alarms.receive(timeout="30s")
        for _ in range(MESSAGES):
            publisher.publish(b"SpO2 low")
        time.sleep(0.1)  # twice what was promised: nobody reads meanwhile
        for _ in range(MESSAGES):
            alarms.receive(timeout="30s")
        return alarms.report["alarm"]


def test_the_audit_agrees_with_the_report_of_the_subscription(spark: SparkSession, tmp_path: Path) -> None:
    report = live(tmp_path)
    found = bronze.read(spark, tmp_path)
    assert (found.files.bad, found.quarantine.count()) == ((), 0)
    made = silver.silver(found.rows)
    deliveries = plain(made.deliveries)
    assert [row["records"] for row in deliveries] == [2] * 2 * MESSAGES
    (contract,) = plain(table("contract_audit").of(Inputs(made.deliveries, made.hops)))
    assert (contract["deliveries"], contract["with_bound"]) == (report.messages, 2 * MESSAGES)
    assert contract["violations"] == report.late >= MESSAGES
    assert (contract["bound_ns"], contract["verdict"]) == (NEED.max_latency_ns, "violated")
    # The report rounds what it keeps to 1 %; the longest it knows exactly.
    assert contract["largest_ns"] == report.max_ns
