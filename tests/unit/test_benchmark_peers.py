"""Rounds are interleaved, ratios are taken within a round, and the page says what was reached and failed."""

from __future__ import annotations

import importlib
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def peers(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The package, which lies beside the product and not in it."""
    monkeypatch.syspath_prepend(ROOT)
    for name in ("rounds", "aims", "page", "pairs", "clients.meter"):
        importlib.import_module(f"benchmarks.peers.{name}")
    return importlib.import_module("benchmarks.peers")


def measured(peers: ModuleType, **rates: list[float]) -> object:
    lines = {peer: [{"rate": rate, "lost": 0.0} for rate in values] for peer, values in rates.items()}
    return peers.rounds.Rounds({"throughput": lines})


def test_every_round_has_every_job_once_and_each_peer_is_first_in_turn(peers: ModuleType) -> None:
    jobs = [peers.rounds.Job(measure, peer, dict) for measure in "ab" for peer in "xyz"]
    order = list(peers.rounds.schedule(jobs, 3))
    assert Counter((job.measure, job.peer) for job in order) == {(job.measure, job.peer): 3 for job in jobs}
    assert [order[place].peer for place in range(0, 18, 6)] == ["x", "y", "z"]


def test_a_ratio_is_taken_within_each_round(peers: ModuleType) -> None:
    # The machine was ten times slower in the second round: the ratio does not see it.
    rounds = measured(peers, giusto=[200.0, 20.0, 300.0], relay=[400.0, 40.0, 500.0])
    ratio = rounds.ratio(("throughput", "giusto", "rate"), ("throughput", "relay", "rate"))  # type: ignore[attr-defined]
    assert (ratio.middle, ratio.low, ratio.high) == (0.5, 0.5, 0.6)


def test_the_spread_holds_all_rounds_whatever_their_order(peers: ModuleType) -> None:
    spread = peers.rounds.Spread.of([5.0, 1.0, 9.0, 2.0, 4.0])
    assert (spread.low, spread.middle, spread.high) == (1.0, 4.0, 9.0)


def test_an_aim_that_is_missed_is_said_so_and_one_that_is_not_measured_too(peers: ModuleType) -> None:
    rounds = measured(peers, giusto=[300.0], relay=[1000.0], nats=[100.0])
    rows = {row[0]: row for row in peers.page.aims(rounds)[1]}
    assert rows["throughput against the bare relay"][1:] == ["≥ 0.4 ×", "0.3 (0.3–0.3)", "**no**"]
    assert rows["throughput against NATS (Debian)"][3] == "yes"
    assert rows["Python to Python against zenoh"][2] == "not measured"


def test_the_page_has_the_figures_the_failures_and_what_is_missing(peers: ModuleType) -> None:
    rounds = measured(peers, giusto=[2e6, 3e6], relay=[4e6, 4e6])
    rounds.lines["throughput"]["redis"] = [{"error": "it fell over"}, {"error": "it fell over"}]  # type: ignore[attr-defined]
    page = peers.page.page(
        rounds,
        [peers.brokers.Broker("giusto", "giusto", "1.2.3", lambda port, folder: [])],
        [peers.brokers.Missing("nats", "apt install nats-server")],
        machine="a machine",
        date="2026-01-31",
        pictures=False,
    )
    assert "Measured on 2026-01-31 on a machine: giusto 1.2.3." in page
    assert "| giusto | 2.50 (2.00–3.00) | 0.62 | 1.00 | 0 |" in page
    assert "redis failed in 2 of 2 rounds: it fell over" in page
    assert "| redis |" not in page
    assert "nats (`apt install nats-server`)" in page


def test_the_rate_of_a_subscriber_leaves_out_the_start_and_the_wait_at_the_end(peers: ModuleType) -> None:
    slow_start = [(0.0, 0), (0.1, 10)]
    steady = [(0.4 + step / 10, 1000 + 500 * step) for step in range(5)]
    silence = [(0.9, 3000), (1.9, 3000)]
    assert peers.clients.meter.rate(slow_start + steady + silence) == pytest.approx(5000)


def test_nobody_has_a_rate_who_received_nothing(peers: ModuleType) -> None:
    assert peers.clients.meter.rate([(0.0, 0), (1.0, 0)]) == 0


def test_every_measure_has_a_table_and_a_note(peers: ModuleType) -> None:
    names = {measure.name for measure in peers.measures.MEASURES} | {"python"}
    assert names == set(peers.page.COLUMNS) == set(peers.notes.LIMITS)


def test_every_python_client_is_there(peers: ModuleType) -> None:
    folder = ROOT / "benchmarks" / "peers" / "clients"
    clients = {pair.client.partition(":")[0] for pair in peers.pairs.PAIRS}
    assert clients == {path.stem.removesuffix("_client") for path in folder.glob("*_client.py")}
