"""What the sheet of RTMB says instead of printed formulas is what giusto computes."""

from __future__ import annotations

import importlib
from math import isclose
from typing import Any

import pytest

from giusto.errors import InvalidInput
from giusto.guarantee import ports
from giusto.papers import find, once

MS = 1_000_000
SHEET = {claim.id: claim.published for claim in find("rtmb").sheet.claims if claim.corrects}
SPEED = 1_000_000
CENT = ports.Flow(MS // 100, 1000 * MS)
MATE = ports.Flow(MS, 100 * MS)
THREE = [ports.Flow(MS, 4 * MS, budget_ns=3 * MS)] * 3
HELD = ports.Flow(MS, 10 * MS, jitter_ns=4 * MS)
TEN_FRAMES = ports.Request(
    "m",
    1000,
    100 * MS,
    10 * MS,
    [ports.Hop(name) for name in "abc"],
    SPEED,
    shortest_frame_bytes=100,
    longest_frame_bytes=100,
)
COMPUTED_NS = {
    "blocking-true": ports.queueing(ports.Flow(672, MS), [], [], 1538 * 8),
    "sharing-true": ports.queueing(MATE, [], [MATE], 0),
    "babbling-true": ports.queueing(CENT, [ports.Flow(MS, MS * 5 // 4)], [], 0),
    "optimal-true": ports.queueing(THREE[0], [], THREE[1:], 9 * MS // 10),
    "recursion-burst-true": ports.queueing(CENT, [], [HELD] * 6, 0),
    "fixed-true": ports.fixed_latency(TEN_FRAMES, {name: ports.Port(SPEED) for name in "abc"}),
}
# One frame of 0.1 ms that has begun; and what is seen of admitted sets.
SEEN = {"moves-true": 0.1, "path-worst": 1, "limiter-true": 0, "accepted-missed-true": 0, "mates-true": True}


def test_every_correction_is_computed_here_or_said_to_be_seen() -> None:
    assert set(COMPUTED_NS) | set(SEEN) == set(SHEET)
    assert {name: SHEET[name] for name in SEEN} == SEEN


@pytest.mark.parametrize("name", COMPUTED_NS)
def test_a_correction_is_what_giusto_computes(name: str) -> None:
    expected = SHEET[name]
    assert isinstance(expected, int | float)
    assert isclose(expected, COMPUTED_NS[name] / MS, rel_tol=1e-9)


def test_three_flows_stand_one_level_together_and_none_below_the_two_others() -> None:
    packed = ports.assign_levels(THREE, 8, 9 * MS // 10)
    assert isinstance(packed, ports.Assigned)
    assert packed.level == (0, 0, 0)
    assert ports.queueing(THREE[0], THREE[1:], [], 9 * MS // 10) > 3 * MS


def flooding() -> Any:
    """The module of the flooding experiment."""
    assert find("rtmb").code  # loads the package of the paper
    return importlib.import_module("giusto_paper_rtmb.flooding")


def test_the_load_is_that_of_the_text() -> None:
    assert abs(sum(topic.load for topic in flooding().TOPICS) / 1e6 - 815) <= 1


@pytest.mark.parametrize("flood", [False, True])
def test_both_networks_have_the_same_room(flood: bool) -> None:
    asked = {"flood": flood, "until_ns": 10 * MS, "seed": 0, "buffer": 77}
    for managed in (False, True):
        assert [link.capacity for link in flooding().scenario(managed=managed, **asked).links] == [77]


def test_levels_make_no_room_where_everybody_keeps_to_his_contract() -> None:
    plain, managed = (
        flooding().run_case(managed=managed, flood=False, until_ns=50 * MS, buffer=32)[1]
        for managed in (False, True)
    )
    assert None in plain
    assert [each is None for each in plain] == [each is None for each in managed]


def test_a_managed_network_keeps_what_a_flood_takes_from_best_effort() -> None:
    managed, plain = (
        once("rtmb", network=network, milliseconds=50) for network in ("managed", "best-effort")
    )
    assert managed["lost"] == 0 < plain["lost"]
    assert managed["latency_max_ms"] <= managed["max_latency_ms"]
    assert managed["policed_frames"] > 0 == plain["policed_frames"]


@pytest.mark.parametrize("buffer", [0, 10**6])
def test_a_port_without_room_or_without_end_is_refused(buffer: int) -> None:
    with pytest.raises(InvalidInput, match=f"--buffer = {buffer}: expected a whole number from 1 to 100000"):
        once("rtmb", buffer=buffer)


@pytest.mark.parametrize("milliseconds", [0, 10**6])
def test_a_run_that_would_be_nothing_or_endless_is_refused(milliseconds: int) -> None:
    with pytest.raises(InvalidInput, match=f"--milliseconds = {milliseconds}: expected a whole number from"):
        once("rtmb", milliseconds=milliseconds)
