"""Plans: which needs hold, which shares are chosen, what is said about those that do not hold."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import giusto
from giusto.config import BrokerConfig, Guarantee, load
from giusto.contract import Need, Offer
from giusto.errors import InvalidInput
from giusto.guarantee.book import Book
from giusto.planning import Needed, Offered, Plan, Scenario, configuration, plan
from giusto.planning.making import Maker
from giusto.planning.scenario import POLICIES
from giusto.planning.search.problem import change_of
from giusto.planning.traffic import traffic
from giusto.protocol import ShareTerms

# Long enough for every scenario here: what it is good for is the broker's tests' business.
TOLERANT = BrokerConfig(guarantee=Guarantee(tolerance_ns=20_000_000))
WARD = Path(__file__).parents[3] / "examples" / "scenario.toml"


def offered(client: str, topic: str, place: int = 0, **terms: Any) -> Offered:
    terms = terms or {"min_sep": "50ms", "max_size": 256}
    return Offered(client=client, topic=topic, offer=Offer(**terms), path=f"offer[{place}]")


def needed(client: str, pattern: str, place: int = 0, **terms: Any) -> Needed:
    return Needed(client=client, pattern=pattern, need=Need(**terms), path=f"need[{place}]")


def scenario(offers: Iterable[Offered], needs: Iterable[Needed], **more: Any) -> Scenario:
    return Scenario(offers=tuple(offers), needs=tuple(needs), **{"config": TOLERANT, **more})


def busy(urgent: str) -> Scenario:
    """An urgent topic with bursts beside many others."""
    others = [offered(f"sensor-{n}", f"plant/{n}") for n in range(12)]
    alarm = offered("valve", "alarm", 12, min_sep="100ms", burst=4, max_size=256)
    return scenario(
        [*others, alarm],
        [needed("desk", "plant/+", max_latency="30ms"), needed("desk", "alarm", 1, max_latency=urgent)],
    )


@cache
def nearest_ns() -> int:
    """The smallest latency of the urgent topic with which everything holds."""
    nearest = plan(busy("1us")).failures[0].nearest
    assert nearest is not None
    assert nearest.max_latency_ns is not None
    return nearest.max_latency_ns


@cache
def tight() -> Scenario:
    """Default shares are not enough: half of the way between what they and the best ones can promise."""
    loose = plan(busy("1s"), search=False).contracts[-1].bound_ns
    return busy(f"{(loose + nearest_ns()) // 2}ns")


def admitted(made: Plan) -> bool:
    """Whether the admission of the live broker grants all of it with these shares."""
    found = traffic(made.scenario, range(len(made.scenario.needs)))
    return Book(made.scenario.setting(made.input)).decide(change_of(found, made.shares)) is None


@pytest.mark.parametrize("policy", POLICIES)
def test_shares_are_found_under_which_admission_grants_everything(policy: str) -> None:
    made = plan(busy("20ms"), input=policy)
    assert made.holds
    assert admitted(made)
    assert all(contract.bound_ns <= contract.promise_ns for contract in made.contracts)
    assert all(sum(part.ns for part in each.parts) == each.bound_ns for each in made.contracts)
    assert made.worst_slack_ns == min(contract.slack_ns for contract in made.contracts)


def test_default_shares_are_not_enough_where_chosen_ones_are() -> None:
    assert not plan(tight(), search=False).holds
    made = plan(tight())
    assert made.holds
    assert admitted(made)
    assert (made.shares["alarm"].weight or 0) > 1
    assert "cheapest" in made.claim


def test_a_share_that_is_given_stays() -> None:
    shares = (("plant/3", ShareTerms(weight=2)), ("alarm", ShareTerms(weight=9)))
    made = plan(replace(tight(), shares=shares))
    assert made.holds
    assert made.shares["plant/3"] == ShareTerms(weight=2)
    assert made.shares["alarm"] == ShareTerms(weight=9)


def test_what_fails_has_a_nearest_latency_that_holds_and_a_little_less_does_not() -> None:
    made = plan(busy("1us"))
    assert [failure.need for failure in made.failures] == ["need[1]"]
    assert "1 of 2 needs cannot be held" in made.headline
    assert plan(busy(f"{nearest_ns()}ns")).holds
    assert not plan(busy(f"{nearest_ns() * 99 // 100}ns")).holds


def test_the_needs_before_one_that_fails_hold_still() -> None:
    first = busy("1us")
    made = plan(replace(first, needs=tuple(reversed(first.needs))))
    assert [failure.why for failure in made.failures] == ["latency"]
    assert made.failures[0].pattern == "alarm"
    assert {contract.topic for contract in made.contracts} == {f"plant/{n}" for n in range(12)}


def test_a_publisher_that_is_too_fast_has_a_nearest_rate_that_holds() -> None:
    def at(**rate: str) -> Scenario:
        return scenario(
            [offered("camera", "frames", **rate, max_size=1024)],
            [needed("screen", "frames", max_latency="20ms")],
        )

    made = plan(at(min_sep="100us"))
    nearest = made.failures[0].nearest
    assert nearest is not None
    assert nearest.count == 1
    assert plan(at(min_sep=f"{nearest.period_ns}ns")).holds


def test_needs_without_a_limit_behind_them_are_refused_by_the_rules_of_the_broker() -> None:
    made = plan(
        scenario(
            [
                offered("a", "free", max_size=64),
                offered("b", "kept", 1),
                offered("b", "loose", 2, max_size=64),
                offered("c", "rare", 3, min_sep="10ms", max_sep="15ms", max_size=64),
            ],
            [
                needed("s", "free", 0, max_latency="50ms"),
                needed("s", "kept", 1, max_latency="50ms"),
                needed("A", "rare", 2, max_sep="20ms", max_latency="50ms"),
                needed("B", "rare", 3, max_sep="14ms", max_latency="50ms"),
                needed("C", "rare", 4, max_sep="20ms", max_latency="1us"),
            ],
        )
    )
    assert [(failure.need, failure.why) for failure in made.failures] == [
        ("need[0]", "no_limit"),
        ("need[1]", "unlimited_beside"),
        ("need[3]", "max_sep"),
        ("need[4]", "latency"),
    ]
    assert [contract.client for contract in made.contracts] == ["A"]


def test_a_need_that_nobody_serves_yet_is_a_reservation() -> None:
    made = plan(
        scenario(
            [offered("a", "now")],
            [needed("s", "+", max_latency="50ms")],
            shares=(("later", ShareTerms()),),
        )
    )
    later = next(contract for contract in made.contracts if contract.topic == "later")
    assert (later.publisher, later.bound_ns, later.parts) == (None, 50_000_000, ())


def test_best_effort_alone_needs_no_shares() -> None:
    made = plan(scenario([offered("a", "x", max_size=64)], [needed("s", "x")]))
    assert made.holds
    assert (made.contracts, dict(made.shares)) == ((), {})
    assert "nothing to prove" in made.claim


def test_a_plan_of_which_nothing_holds_does_not_say_that_nothing_was_asked() -> None:
    offers = [offered("a", "x"), offered("a", "log", 1, max_size=64)]
    made = plan(scenario(offers, [needed("s", "x", max_latency="10ms")]))
    assert not made.holds
    assert made.claim == "no need that asks for a latency can be held: there is nothing to prove about shares"


def test_any_takes_the_first_policy_that_holds_all() -> None:
    assert plan(tight(), input="any").input == "twrr"
    hopeless = plan(busy("1us"), input="any")
    assert (hopeless.input, hopeless.holds) == ("twrr", False)


def test_every_policy_is_compared_with_the_load_that_it_could_take() -> None:
    given = busy("20ms")
    made = plan(given, compare=True)
    assert [each.input for each in made.comparison] == list(POLICIES)
    for each in made.comparison:
        assert each.holds
        assert each.load_factor is not None
        assert Maker(faster(given, each.load_factor), each.input, search=True).holds
        assert not Maker(faster(given, each.load_factor * 1.02), each.input, search=True).holds


def faster(given: Scenario, factor: float) -> Scenario:
    """The scenario with all rates multiplied."""
    by = Fraction(factor).limit_denominator(1_000)
    offers = []
    for each in given.offers:
        count, period_ns = each.offer.limit or (1, 1)
        rate = f"{count * by.numerator}/{period_ns * by.denominator}ns"
        offer = Offer(rate=rate, burst=each.offer.burst, max_size=each.offer.max_size_bytes)
        offers.append(replace(each, offer=offer))
    return replace(given, offers=tuple(offers))


def test_a_plan_in_windows_is_admitted() -> None:
    config = replace(TOLERANT, mode="time", period_ns=2_000_000, budget_ns=1_500_000)
    made = plan(replace(busy("20ms"), config=config))
    assert made.holds
    assert admitted(made)
    assert "a smaller one may exist" in made.claim


def test_a_plan_prints_as_text_html_and_json() -> None:
    made = plan(scenario([offered("<b>", "x")], [needed("s", "x", max_latency="30ms")]), compare=True)
    assert "<b>" in str(made)
    assert "30 ms" in str(made)
    assert "<b>" not in made._repr_html_()
    assert "&lt;b&gt;" in made._repr_html_()
    told = json.loads(json.dumps(made.to_dict()))
    assert told["holds"] is True
    assert told["contracts"][0]["promise_ns"] == 30_000_000
    assert told["shares"] == {"x": {"weight": 1}}
    assert len(told["comparison"]) == len(POLICIES)


@pytest.mark.parametrize("policy", POLICIES)
def test_the_configuration_that_is_written_has_the_shares_of_the_plan(tmp_path: Path, policy: str) -> None:
    made = plan(WARD, input=policy)
    path = tmp_path / "giusto.toml"
    path.write_text(configuration(made), encoding="utf-8")
    config = load(path, environ={})
    assert config.input == policy
    assert config.guarantee == made.scenario.config.guarantee
    assert {topic: config.share(topic) for topic in made.shares} == dict(made.shares)


def test_a_need_that_breaks_the_promise_of_another_on_its_topics_names_it() -> None:
    offers = [offered(f"bed-{n}", f"ward/{n}", n, rate=250, max_size=256) for n in range(3)]
    pager = needed("pager", "ward/+", max_latency="1us")
    nearest = plan(scenario(offers, [pager], config=BrokerConfig())).failures[0].nearest
    assert nearest is not None
    pager = needed("pager", "ward/+", max_latency=f"{nearest.max_latency_ns}ns")
    failed = plan(
        scenario(offers, [pager, needed("station", "ward/+", 1, max_latency="1s")], config=BrokerConfig())
    ).failures[0]
    assert (failed.client, failed.why) == ("station", "others")
    assert "promised to 'pager' by need[0]" in failed.reason
    assert failed.nearest is not None
    assert failed.nearest.publishers == ("bed-0", "bed-1", "bed-2")
    assert "all rates of 'bed-0', 'bed-1', 'bed-2' lower by" in str(failed.nearest)


def test_a_tolerance_that_is_too_short_has_a_nearest_that_holds() -> None:
    def at(tolerance_ns: int) -> Plan:
        config = BrokerConfig(guarantee=Guarantee(tolerance_ns=tolerance_ns))
        offers = [offered(f"bed-{n}", f"ward/{n}", n) for n in range(40)]
        return plan(scenario(offers, [needed("pager", "ward/+", max_latency="1s")], config=config))

    failed = at(5_000_000).failures[0]
    assert failed.why == "tolerance"
    assert failed.nearest is not None
    assert failed.nearest.tolerance_ns is not None
    assert at(failed.nearest.tolerance_ns).holds
    assert not at(failed.nearest.tolerance_ns - 20_000).holds


@pytest.mark.parametrize("policy", POLICIES)
def test_an_offer_that_is_too_large_to_be_read_has_a_nearest_size_that_holds(policy: str) -> None:
    def at(**terms: Any) -> Plan:
        offers = [offered("default", "t", min_sep="10ms", **terms)]
        need = needed("s", "t", max_latency="50ms")
        return plan(scenario(offers, [need], config=BrokerConfig(), input=policy))

    failed = at().failures[0]
    assert failed.why == "overload"
    assert "client 'default' offers 1,048,576 bytes on t at 100/s (max_size is not set)" in failed.reason
    assert failed.nearest is not None
    assert failed.nearest.max_size_bytes is not None
    assert at(max_size=failed.nearest.max_size_bytes).holds


@pytest.mark.parametrize("policy", POLICIES)
def test_a_latency_that_no_message_can_have_fails_also_where_nobody_publishes(policy: str) -> None:
    def at(latency: str) -> Plan:
        need = needed("nurse", "empty", max_latency=latency)
        return plan(scenario([], [need], shares=(("empty", ShareTerms()),), input=policy))

    failed = at("1ns").failures[0]
    assert failed.why == "latency"
    assert failed.nearest is not None
    assert at(f"{failed.nearest.max_latency_ns}ns").holds


def test_a_document_does_as_well_as_a_file() -> None:
    document = {
        "offer": [{"client": "bed", "topic": "alarm", "min_sep": "100ms", "max_size": 64}],
        "need": [{"client": "nurse", "topic": "alarm", "max_latency": "50ms"}],
    }
    assert giusto.plan(document).holds


@pytest.mark.parametrize("wrong", [3, None, ["x"]])
def test_what_is_no_scenario_is_refused(wrong: Any) -> None:
    with pytest.raises(InvalidInput, match="scenario"):
        plan(wrong)


def test_an_unknown_policy_is_refused() -> None:
    with pytest.raises(InvalidInput, match="twrr or smooth or fair or edf or any"):
        plan(busy("1ms"), input="fifo")
