"""What the doctor finds, and what it advises."""

from __future__ import annotations

import dataclasses
import socket
from pathlib import Path
from typing import Any

import pytest

from giusto.cli.doctor import checks, facts
from giusto.cli.doctor.checks import Finding, Level
from giusto.errors import InvalidInput

HEALTHY = facts.Facts(
    python=(3, 11, 7),
    profile="release",
    stale=None,
    clock_source="tsc",
    clock_sources=("tsc", "hpet"),
    clock_step_ns=40,
    naps_late_ns=(50_000, 60_000, 90_000),
    fifo=None,
    may_lock=True,
    limits={"nofile": (65_536, 65_536), "memlock": (-1, -1), "rtprio": (99, 99)},
    cpus=4,
    isolated="2-3",
    governors=frozenset({"performance"}),
    cpu_quota=None,
    realtime_share=None,
    receive_buffer_bytes=8 << 20,
    ports={"127.0.0.1:7447": "free"},
)


def examine(**changes: Any) -> list[Finding]:
    """What is found on a machine that is healthy but for these changes, without what is fine."""
    findings = checks.examine(dataclasses.replace(HEALTHY, **changes))
    return [finding for finding in findings if finding.level is not Level.OK]


def only(**changes: Any) -> Finding:
    [finding] = examine(**changes)
    return finding


def test_a_healthy_machine_has_nothing_to_complain_of() -> None:
    assert examine() == []
    assert checks.is_usable(checks.examine(HEALTHY))


@pytest.mark.parametrize(
    ("changes", "what", "level", "advice"),
    [
        ({"python": (3, 10, 1)}, "Python", Level.FAIL, "3.11"),
        ({"spark": "Java is missing: install Java 17"}, "Spark", Level.NOTE, "install Java 17"),
        ({"profile": None, "stale": "it cannot be loaded"}, "native core", Level.FAIL, "make build"),
        ({"stale": "other sources"}, "native core", Level.WARN, "make build"),
        ({"profile": "debug"}, "native core", Level.WARN, "release"),
        ({"clock_source": "hpet"}, "clock", Level.WARN, "echo tsc"),
        ({"clock_source": "hpet", "clock_sources": ("hpet",)}, "clock", Level.WARN, "clocksource=tsc"),
        ({"naps_late_ns": (50_000, 60_000, 9_000_000)}, "timers", Level.NOTE, "isolated"),
        ({"naps_late_ns": (2_000_000,) * 3}, "timers", Level.WARN, "of your own"),
        ({"realtime_share": 0.95}, "real-time throttling", Level.NOTE, "sched_rt_runtime_us=-1"),
        ({"cpu_quota": 1.5}, "processors", Level.WARN, "cpu.max"),
        ({"cpus": 1}, "processors", Level.NOTE, "two"),
        ({"isolated": ""}, "isolated CPUs", Level.NOTE, "isolcpus"),
        ({"governors": frozenset({"powersave"})}, "CPU governor", Level.NOTE, "performance"),
        ({"receive_buffer_bytes": 212_992}, "UDP buffer", Level.NOTE, "rmem_max"),
        ({"ports": {"127.0.0.1:7447": "taken"}}, "port 127.0.0.1:7447", Level.WARN, "--listen"),
        ({"ports": {"10.9.9.9:1": "Cannot assign"}}, "port 10.9.9.9:1", Level.WARN, "--listen"),
    ],
)
def test_each_weakness_is_named_with_what_to_do(
    changes: dict[str, Any], what: str, level: Level, advice: str
) -> None:
    finding = only(**changes)
    assert (finding.what, finding.level) == (what, level)
    assert advice in finding.advice


@pytest.mark.parametrize(("hard", "advice"), [(0, "limits.conf"), (50, "ulimit -r 50")])
def test_real_time_rights_that_are_within_reach_need_no_administrator(hard: int, advice: str) -> None:
    finding = only(fifo="Operation not permitted", limits={**HEALTHY.limits, "rtprio": (0, hard)})
    assert advice in finding.advice


@pytest.mark.parametrize(("hard", "advice"), [(4096, "LimitNOFILE"), (-1, "ulimit -n")])
def test_too_few_descriptors(hard: int, advice: str) -> None:
    finding = only(limits={**HEALTHY.limits, "nofile": (1024, hard)})
    assert finding.found.startswith("1,024 descriptors")
    assert advice in finding.advice


def test_memory_that_may_not_be_locked() -> None:
    limits = {**HEALTHY.limits, "memlock": (8 << 20, 8 << 20)}
    assert only(limits=limits, may_lock=False).found == "8 MiB may be locked"
    assert examine(limits=limits, may_lock=True) == []


def test_a_broker_that_answers_is_no_problem() -> None:
    assert examine(ports={"127.0.0.1:7447": "broker"}) == []


def test_only_a_failure_makes_a_machine_unusable() -> None:
    assert checks.is_usable(examine(cpus=1, cpu_quota=0.5))
    assert not checks.is_usable(examine(python=(3, 10, 0)))


@pytest.mark.parametrize(
    ("line", "expected"), [(None, None), ("max 100000", None), ("150000 100000", 1.5), ("50000", 0.5)]
)
def test_the_quota_of_a_control_group(line: str | None, expected: float | None) -> None:
    assert facts.cpu_quota(line) == expected


def test_capabilities_are_read_from_the_status_of_a_process() -> None:
    assert facts.is_capable("Name:\tx\nCapEff:\t0000000000004000\n", 14)
    assert not facts.is_capable("CapEff:\t0000000000002000\n", 14)
    assert not facts.is_capable(None, 14)


def test_governors_are_those_of_all_processors(tmp_path: Path) -> None:
    for number, name in enumerate(["performance", "powersave"]):
        folder = tmp_path / f"cpu{number}" / "cpufreq"
        folder.mkdir(parents=True)
        (folder / "scaling_governor").write_text(f"{name}\n")
    assert facts.governors(tmp_path) == {"performance", "powersave"}


def test_this_machine_can_be_looked_at() -> None:
    seen = facts.collect([])
    assert seen.profile is not None
    assert len(seen.naps_late_ns) == facts.NAPS
    assert checks.examine(seen)


@pytest.mark.parametrize("address", ["127.0.0.1:7447x", "127.0.0.1:99999", "127.0.0.1:0", "7447", "host:"])
def test_an_address_that_is_none_is_refused_by_the_name_of_the_option(address: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        facts.port_state(address)
    assert refused.value.field == "--port"


def test_an_address_of_another_machine_is_not_taken_by_a_program_here() -> None:
    assert facts.port_state("192.0.2.1:7447") == "not an address of this machine"


def test_a_port_is_free_or_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        where = f"127.0.0.1:{stranger.getsockname()[1]}"
        # It listens and never answers.
        assert facts.port_state(where) == "taken"
    assert facts.port_state(where) == "free"
