"""`giusto sim` says when records are missing."""

from __future__ import annotations

from giusto.cli.sim import incomplete
from giusto.sim import Broker, Publisher, Scenario, Subscriber, Trace, run


def test_records_that_found_no_room_are_said() -> None:
    scenario = Scenario(
        until="1s",
        brokers=[Broker(name="b")],
        publishers=[Publisher(name="p", broker="b", topic="t", workload=Trace(at_ns=range(5)))],
        subscribers=[Subscriber(name="s", broker="b", pattern="t")],
    )
    made = run(scenario, record_capacity=3)
    assert made.topics[0].ideal == 3
    assert incomplete(made).startswith("only the first 3 records were kept, and 2 were not")
