"""What a measurement is asked to do, and what it says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from giusto.cli.bench.plan import Plan, Received, Sent, plan, report, show
from giusto.cli.bench.subscriber import Taken
from giusto.cli.histogram import Histogram, summary
from giusto.cli.pace import Pace
from giusto.errors import InvalidInput


def planned(**changes: Any) -> Plan:
    options: dict[str, Any] = {
        "rate": "1000/s",
        "duration": "2s",
        "warm_up": "500ms",
        "size": 128,
        "batch": 1,
    }
    return plan("giusto://x:1", "t", **{**options, "spin": False, **changes})


def test_a_rate_and_a_duration_give_a_number_of_messages() -> None:
    made = planned()
    assert made.pace == Pace(2_500, 1_000, 1_000_000_000)
    assert (made.warm_up_ns, made.stride) == (500_000_000, 1)


def test_as_fast_as_possible_has_no_instants_and_looks_at_a_sample() -> None:
    made = planned(rate="max", batch=64)
    assert made.pace == Pace(None)
    assert (made.warm_up_ns, made.seconds) == (500_000_000, 2.5)
    assert made.stride > 1


def test_a_slow_rate_still_measures_one_message() -> None:
    made = planned(rate="1/10s", duration="1s")
    assert (made.pace.count, made.warm_up_ns) == (1, 0)


def test_a_plan_survives_the_command_line_of_another_process() -> None:
    made = planned(spin=True)
    assert Plan.read(made.text()) == made


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"rate": "fast"}, "--rate"),
        ({"duration": "soon"}, "--duration"),
        ({"warm_up": "-1s"}, "--warm-up"),
        ({"size": -1}, "--size"),
        ({"size": (1 << 20) + 1}, "--size"),
        ({"batch": 0, "rate": "max"}, "--batch"),
        ({"batch": 2}, "--batch"),
    ],
)
def test_what_cannot_be_measured_is_refused_by_the_name_of_the_option(
    changes: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        planned(**changes)
    assert refused.value.field == field


def measured() -> dict[str, Any]:
    sent = Sent(count=11, first_ns=0, last_ns=10_000_000, late_ns=70_000)
    received = Received(Histogram([200_000] * 9), Histogram([100_000] * 9), 10, 0, 9_000_000)
    return report(planned(), sent, received)


def test_the_report_has_rates_losses_and_both_latencies() -> None:
    fields = measured()
    assert (fields["sent"], fields["received"], fields["lost"], fields["measured"]) == (11, 10, 1, 9)
    assert (fields["sent_hz"], fields["received_hz"]) == (1000.0, 1000.0)
    assert fields["latency_from_intended"]["p99.99_ns"] == 200_000
    assert fields["latency_from_sent"]["max_ns"] == 100_000


def test_people_see_one_line_for_each_percentile() -> None:
    text = "\n".join(show(measured()))
    assert "11 messages of 128 bytes, 1,000/s" in text
    for name in ("min", "mean", "p50", "p90", "p95", "p99", "p99.9", "p99.99", "max"):
        assert f" {name}  " in text


@dataclass
class Arrived:
    """The times of a message."""

    intended_ns: int
    received_ns: int
    latency_ns: int


@pytest.mark.parametrize(("stride", "measured"), [(1, 60), (16, 4)])
def test_latencies_of_the_warm_up_do_not_count_though_messages_were_lost_in_it(
    stride: int, measured: int
) -> None:
    taken = Taken(stride)
    # The first 76 of 200 were lost; the warm-up ends at 140.
    taken.add([Arrived(due, due + 900, 900) for due in range(76, 140)])  # type: ignore[misc]
    taken.add([Arrived(due, due + 5, 5) for due in range(140, 200)])  # type: ignore[misc]
    received = taken.received(140)
    assert received.intended.total == received.sent.total == measured
    assert summary(received.intended)["max_ns"] == 5
