"""What a broker makes of models: it raises its costs, widens offers or says why not; promises always hold."""

from __future__ import annotations

import contextlib
import functools

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from giusto import Need, Offer
from giusto.config import BrokerConfig
from giusto.config.broker import Models
from giusto.errors import GiustoError, InvalidInput, Refused
from giusto.guarantee.costs import Costs
from giusto.models import (
    EnvelopeModel,
    LinkModel,
    Model,
    ModelVerdict,
    QuantumCost,
    QuantumModel,
    RatePoint,
    decode,
    encode,
)
from giusto.testing import MemoryBus

MS = 1_000_000
SECOND = 1_000 * MS
LISTEN = BrokerConfig(models=Models(listen=True))
APPLY = BrokerConfig(models=Models(listen=True, envelope="apply", link="apply"))
OFFER = Offer(min_sep="10ms", max_size=256)


def quantum(factor: float, count: int = 1_000) -> QuantumModel:
    """Quanta that take so much of what the default costs say."""
    took_ns = round(Costs().serve_ns(256, 1) * factor)
    cost = QuantumCost(
        size_bytes=256, fan_out=1, count=count, mean_ns=took_ns, p99_ns=took_ns, max_ns=took_ns
    )
    return QuantumModel(run="r", node="memory", costs=(cost,))


def envelope(excess_ns: int | None, **given: object) -> EnvelopeModel:
    """A flow of one message per 10 ms, that came so much too early."""
    found = {
        "run": "r",
        "publisher": "monitor",
        "topic": "alarm",
        "count": 1_001,
        "since_ns": 0,
        "until_ns": 10 * SECOND,
        "largest_bytes": 200,
        "points": (RatePoint(80.0, 5.0), RatePoint(113.0, 3.0), RatePoint(160.0, 2.2)),
        "min_sep_ns": 10 * MS,
        "excess_ns": excess_ns,
        "closer": 7,
    }
    return EnvelopeModel(**{**found, **given})  # type: ignore[arg-type]


def promised(config: BrokerConfig, latency: str) -> tuple[MemoryBus, MemoryBus]:
    """A monitor under contract, and the nurse who was promised something."""
    monitor = MemoryBus(config, name="monitor")
    monitor.advertise("alarm", OFFER)
    nurse = monitor.connect(name="nurse")
    nurse.subscribe("alarm", Need(max_latency=latency))
    return monitor, nurse


def with_tightest(bus: MemoryBus) -> None:
    """A subscription with the shortest latency that can be promised."""
    with pytest.raises(Refused) as caught:
        bus.subscribe("alarm", Need(max_latency="1ns"))
    assert caught.value.nearest is not None
    bus.subscribe("alarm", Need(max_latency=f"{caught.value.nearest.max_latency_ns}ns"))


def bound_ns(bus: MemoryBus) -> int:
    """The largest bound on the topic."""
    (flow,) = bus.explain("alarm").flows
    return flow.bound_ns


def test_costs_that_cover_what_was_measured_stay() -> None:
    monitor, _ = promised(APPLY, "100ms")
    before = bound_ns(monitor)
    assert monitor.learn(quantum(1.0)).decision == "kept"
    assert monitor.learn(quantum(0.1)).decision == "kept", "costs are never lowered"
    assert monitor.learn(quantum(5.0, count=999)).decision == "kept", "too few to say"
    assert bound_ns(monitor) == before


def test_costs_that_are_too_low_are_raised_if_every_promise_holds() -> None:
    monitor, _ = promised(APPLY, "100ms")
    before = bound_ns(monitor)
    verdict = monitor.learn(quantum(2.0))
    assert verdict.decision == "applied"
    assert before < bound_ns(monitor) <= 100 * MS
    assert "serving × 2.00 as measured" in monitor.explain("alarm").basis
    # The same again is covered now.
    assert monitor.learn(quantum(2.0)).decision == "kept"


@pytest.mark.parametrize("policy", ["twrr", "smooth", "fair", "edf"])
def test_all_input_policies_reckon_with_raised_costs_and_slow_links(policy: str) -> None:
    config = BrokerConfig(input=policy, models=Models(listen=True, link="apply"))
    monitor, nurse = promised(config, "100ms")
    monitor.advertise("vitals", OFFER)
    nurse.subscribe("vitals", Need(max_latency="50ms"))
    before = bound_ns(monitor)
    assert monitor.learn(quantum(2.0)).decision == "applied"
    assert monitor.learn(link(5 * MS)).decision == "applied"
    assert before + 5 * MS - Costs().hop_ns < bound_ns(monitor) <= 100 * MS
    # What is asked later is decided by what counts now.
    later = monitor.connect(name="later")
    with_tightest(later)
    assert bound_ns(monitor) <= 100 * MS


def test_costs_under_which_a_promise_breaks_are_reported_and_not_applied() -> None:
    monitor, _ = promised(APPLY, "100ms")
    with_tightest(monitor.connect(name="doctor"))
    before = bound_ns(monitor)
    verdict = monitor.learn(quantum(1.5))
    assert verdict.decision == "refused"
    assert "'doctor'" in verdict.reason, "whose promise would break is said"
    assert bound_ns(monitor) == before


def test_quanta_of_another_order_are_not_the_brokers_work() -> None:
    monitor, _ = promised(APPLY, "100ms")
    assert monitor.learn(quantum(11.0)).decision == "reported"


def test_costs_are_only_reported_if_so_configured() -> None:
    monitor, _ = promised(BrokerConfig(models=Models(listen=True, quantum="report")), "100ms")
    before = bound_ns(monitor)
    assert monitor.learn(quantum(2.0)).decision == "reported"
    assert bound_ns(monitor) == before


def test_a_flow_that_keeps_its_offer_within_the_tolerance_stays_as_it_is() -> None:
    monitor, _ = promised(APPLY, "100ms")
    assert monitor.learn(envelope(0)).decision == "kept"
    assert monitor.learn(envelope(5 * MS)).decision == "kept", "guarantee.tolerance is 5 ms"
    assert monitor.learn(envelope(50 * MS, min_sep_ns=20 * MS)).decision == "kept", "of another offer"
    assert monitor.learn(envelope(50 * MS, publisher="nobody")).decision == "kept"


def test_a_bursty_flow_may_be_so_if_every_promise_holds() -> None:
    monitor, _ = promised(APPLY, "200ms")
    before = bound_ns(monitor)
    # Three messages and 5 ms more than one message at a time.
    verdict = monitor.learn(envelope(35 * MS))
    assert verdict.decision == "applied"
    (party,) = monitor.publishers("alarm")
    assert party.offer is not None
    assert (party.offer.burst, party.offer.jitter_ns) == (4, 5 * MS)
    assert bound_ns(monitor) > before


def test_a_burst_that_was_applied_is_let_through() -> None:
    monitor = MemoryBus(APPLY, name="monitor")
    publisher, subscription = monitor.advertise("alarm", OFFER), monitor.subscribe("alarm")

    def burst() -> int:
        monitor.clock.advance("1s")
        for _ in range(4):
            publisher.publish(b"x")
        monitor.clock.advance("100ms")
        came = subscription.available()
        subscription.purge()
        return came

    # Within a tolerance of 5 ms one message of 10 ms comes at a time.
    assert burst() == 1
    assert monitor.learn(envelope(30 * MS)).decision == "applied"
    assert burst() == 4


def test_a_burst_under_which_a_promise_breaks_is_refused() -> None:
    monitor, _ = promised(APPLY, "100ms")
    with_tightest(monitor.connect(name="doctor"))
    before = monitor.publishers("alarm"), bound_ns(monitor)
    verdict = monitor.learn(envelope(50 * MS))
    assert verdict.decision == "refused"
    assert "'doctor'" in verdict.reason
    assert (monitor.publishers("alarm"), bound_ns(monitor)) == before


def test_bursts_are_only_reported_by_default() -> None:
    monitor, _ = promised(LISTEN, "200ms")
    before = monitor.publishers("alarm")
    verdict = monitor.learn(envelope(35 * MS))
    assert (verdict.decision, monitor.publishers("alarm")) == ("reported", before)
    assert "burst 4, jitter 5 ms" in verdict.reason


def test_who_sends_more_often_than_offered_gets_no_burst_for_it() -> None:
    monitor, _ = promised(APPLY, "200ms")
    verdict = monitor.learn(envelope(35 * MS, until_ns=5 * SECOND))
    assert verdict.decision == "reported"
    assert "200 messages in a second" in verdict.reason


def test_a_publisher_without_an_offer_is_refused_with_one_that_suits_it() -> None:
    monitor = MemoryBus(LISTEN, name="monitor")
    monitor.advertise("alarm")
    assert monitor.learn(envelope(None, min_sep_ns=None)).decision == "reported"
    nurse = monitor.connect(name="nurse")
    with pytest.raises(Refused) as caught:
        nurse.subscribe("alarm", Need(max_latency="100ms"))
    # 100 in a second and some room: 113 in a second and three at once.
    assert "Offer(min_sep='8800us', burst=3, max_size=200)" in str(caught.value)


def link(largest_ns: int, target: str = "nurse") -> LinkModel:
    """A link to a subscriber with this largest delay."""
    return LinkModel(
        run="r",
        source="memory",
        target=target,
        count=100,
        mean_ns_per_kb=1e6,
        variance=1e6,
        least_ns=1,
        largest_ns=largest_ns,
    )


def test_a_link_that_is_slower_than_configured_counts_if_every_promise_holds() -> None:
    monitor, _ = promised(APPLY, "100ms")
    before = bound_ns(monitor)
    assert monitor.learn(link(100_000)).decision == "kept"
    assert monitor.learn(link(5 * MS, "nobody")).decision == "kept"
    assert monitor.learn(link(5 * MS)).decision == "applied"
    # The hop between socket and program was reckoned with before.
    assert bound_ns(monitor) == before + 5 * MS - Costs().hop_ns
    verdict = monitor.learn(link(200 * MS))
    assert verdict.decision == "refused"
    assert "guarantee.link_delay_out" in verdict.reason
    assert "'nurse'" in verdict.reason


def test_the_status_says_what_became_of_models() -> None:
    monitor, _ = promised(LISTEN, "200ms")
    for excess_ms in (35, 45):
        monitor.learn(envelope(excess_ms * MS))
    monitor.learn(link(100_000))
    found = monitor.status().models
    assert [(one.kind, one.decision) for one in found] == [("envelope", "reported"), ("link", "kept")]
    assert "burst 5" in found[0].reason, "the newest of a subject"
    assert all(isinstance(one, ModelVerdict) for one in found)


@pytest.mark.parametrize("model", [quantum(1.0), envelope(3), link(7)], ids=lambda model: model.subject)
def test_a_model_is_the_same_after_a_journey(model: QuantumModel | EnvelopeModel | LinkModel) -> None:
    assert decode(encode(model)) == model


def test_a_broker_that_does_not_listen_takes_up_nothing() -> None:
    monitor, _ = promised(BrokerConfig(models=Models(link="apply")), "100ms")
    before = bound_ns(monitor)
    for model in (quantum(2.0), link(5 * MS), envelope(35 * MS)):
        verdict = monitor.learn(model)
        assert verdict.decision == "kept"
        assert "models.listen" in verdict.reason
    assert bound_ns(monitor) == before
    assert monitor.status().models == []


def test_only_models_of_the_clients_that_are_named_count() -> None:
    config = BrokerConfig(models=Models(listen=True, sources=("auditor",)))
    monitor, _ = promised(config, "100ms")
    verdict = monitor.learn(quantum(2.0))
    assert verdict.decision == "kept"
    assert "models.sources" in verdict.reason
    assert monitor.connect(name="auditorium").learn(quantum(2.0)).decision == "kept"
    assert monitor.connect(name="auditor-77").learn(quantum(2.0)).decision == "applied"
    assert monitor.connect(name="$steward/models-0").learn(quantum(3.0)).decision == "applied"


@pytest.mark.parametrize("policy", ["twrr", "edf"])
def test_a_model_of_nothing_takes_back_what_was_applied(policy: str) -> None:
    config = BrokerConfig(input=policy, models=Models(listen=True, link="apply"))
    monitor, _ = promised(config, "100ms")
    before = bound_ns(monitor), monitor.explain("alarm").basis
    nothing = (QuantumModel(run="r", node="memory", costs=()), replace(link(0), count=0))
    assert [monitor.learn(model).decision for model in nothing] == ["kept", "kept"]
    assert [monitor.learn(model).decision for model in (quantum(2.0), link(5 * MS))] == ["applied"] * 2
    assert [monitor.learn(model).decision for model in nothing] == ["applied", "applied"]
    assert (bound_ns(monitor), monitor.explain("alarm").basis) == before
    # What was taken back can be learned again.
    assert monitor.learn(quantum(2.0)).decision == "applied"


HOSTILE = [-(2**63), -1, 0, 1, 2**63, 2**64 - 1, 1e308, -1e308, float("inf"), float("nan")]


@given(st.data())
def test_no_numbers_in_a_model_cost_more_than_an_answer(data: st.DataObject) -> None:
    world = hostile_world()
    model = data.draw(st.sampled_from([quantum(2.0), envelope(35 * MS), link(5 * MS)]))
    with contextlib.suppress(GiustoError):
        world.learn(twisted(model, data))
    assert world.learn(link(1)).decision == "kept", "it goes on"


@functools.cache
def hostile_world() -> MemoryBus:
    monitor, _ = promised(APPLY, "100ms")
    return monitor


def twisted(model: Model, data: st.DataObject) -> Model:
    """The model with numbers that nobody measured."""
    plain = msgspec.to_builtins(model)
    places = [plain, *plain.get("points", []), *plain.get("costs", [])]
    for place in places:
        for name, value in place.items():
            if isinstance(value, int | float) and data.draw(st.booleans()):
                place[name] = data.draw(st.sampled_from(HOSTILE))
    kind = type(model)
    points = tuple(RatePoint(**point) for point in plain.pop("points", []))
    costs = tuple(QuantumCost(**cost) for cost in plain.pop("costs", []))
    plain.pop("kind")
    given = {"points": points} if points else {"costs": costs} if costs else {}
    names = dict(zip(kind.__struct_encode_fields__, kind.__struct_fields__, strict=True))
    return kind(**{names[name]: value for name, value in plain.items()}, **given)


@pytest.mark.parametrize(
    "payload",
    [
        b"\xff",
        b'{"kind":"link"}',
        b'{"x":' + b"[" * 100_000,
        encode(envelope(3)).replace(b"1001", b"9" * 30),
        encode(envelope(3)).replace(b"80.0", b"1e999"),
    ],
)
def test_what_is_no_model_is_said_to_be_none(payload: bytes) -> None:
    with pytest.raises(InvalidInput, match="model"):
        decode(payload)
