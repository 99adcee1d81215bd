"""What `giusto calibrate` measures, for how long each, and what it says in the end."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console, RenderableType

from giusto import _core
from giusto.cli.calibrate import require_sane
from giusto.cli.calibrate.course import (
    STALLS,
    Findings,
    Measured,
    Task,
    Yield,
    cut,
    run,
    slices,
    tasks,
)
from giusto.cli.calibrate.table import bytes_of, micros, report, set_aside
from giusto.errors import InvalidInput
from giusto.guarantee import calibration
from giusto.guarantee.calibration import Calibration
from giusto.guarantee.measured import KINDS, Work

SECOND = 1_000_000_000
KINDS_OF = {
    "path": ("take", "step", "write", "serve"),
    "calls": ("status", "clients", "subscribe", "advertise", "drain"),
    "stalls": ("sleep", "spin"),
}


def pretended(task: Task, slice_ns: int) -> Measured:
    """Ten samples of each kind, during the last of which the system runs something else for 1 ms."""
    kinds = KINDS_OF.get(task.name, (task.name,))
    has_subscribers = task.name != "path" or task.number > 0
    whole = [5_000 + 10 * task.number + task.size_bytes] * 9
    return {
        kind: ([*whole, whole[0] + 1_000_000], [0] * 9 + [1_000_000])
        for kind in kinds
        if kind != "write" or has_subscribers
    }


def measured() -> Findings:
    findings = Findings()
    for _ in run(SECOND, 3_000, pretended, findings):
        pass
    return findings


def made() -> Calibration:
    findings = measured()
    return calibration.fit(
        findings.samples,
        findings.stalls_ns,
        date=datetime(2026, 11, 16, tzinfo=UTC),
        seconds=1.0,
        stall_seconds=0.25,
        away_ns=findings.away_ns,
    )


def test_every_kind_of_work_is_measured() -> None:
    assert {work.kind for work in measured().samples} == set(KINDS)


def test_time_of_other_programs_is_a_stall_and_no_cost() -> None:
    findings = measured()
    assert findings.samples[Work("turn")] == [5_000] * len(findings.samples[Work("turn")])
    assert set(findings.away_ns) == {1_000_000}
    assert made().costs.turn_ns == 5_000
    assert made().stalls.hits == len(findings.away_ns)


def test_takes_and_writes_are_the_same_work_whatever_the_number_of_subscribers() -> None:
    works = measured().samples
    assert {work.count for work in works if work.kind in {"take", "write"}} == {0}
    assert {work.count for work in works if work.kind == "serve"} == {0, 1, 2, 4, 16, 64}


def test_no_more_time_is_spent_than_was_given_and_a_quarter_of_it_on_the_machine() -> None:
    spent: Counter[Task] = Counter()

    def measure(task: Task, slice_ns: int) -> Measured:
        spent[task] += slice_ns
        return pretended(task, slice_ns)

    planned = sum(run(20 * SECOND, 3_000, measure, Findings()))
    assert planned == spent.total()
    assert 19 * SECOND <= planned <= 20 * SECOND
    assert 5 * SECOND - 1_000 <= spent[STALLS] <= 5 * SECOND
    assert set(spent) == {*tasks(), STALLS}


@given(
    st.integers(10**9, 10**12),
    st.lists(
        st.builds(Yield, spent_ns=st.integers(1, 10**10), samples=st.integers(0, 10**5)),
        min_size=1,
        max_size=50,
    ),
)
def test_every_task_gets_some_time_and_all_together_not_more_than_there_is(
    total_ns: int, yields: list[Yield]
) -> None:
    shares = slices(total_ns, yields, 3_000)
    assert all(share > 0 for share in shares)
    assert sum(shares) <= total_ns + len(yields) * 1_000_000


def test_who_lacks_samples_gets_more_time() -> None:
    slow, quick = slices(SECOND, [Yield(SECOND, 100), Yield(SECOND, 100_000)], 3_000)
    assert slow > 2 * quick


@given(st.integers(0, 10**11))
def test_no_slice_is_longer_than_ctrl_c_should_wait(total_ns: int) -> None:
    assert all(slice_ns <= 500_000_000 for slice_ns in cut(total_ns))
    assert total_ns - len(cut(total_ns)) < sum(cut(total_ns)) + 1 <= total_ns + 1


def test_the_report_names_the_machine_the_costs_and_the_file() -> None:
    text = rendered(report(made(), Path("here.json")))
    for part in ("99.9 %", "95 %", "1 MiB", "T_q 64", "the machine is late", "small messages a second"):
        assert part in text
    assert 'calibration = "here.json"' in text
    assert "too few samples" in text


@pytest.mark.parametrize(("hits", "is_busy"), [(0, False), (1_000, False), (1_001, True), (20_449, True)])
def test_the_report_says_how_many_stalls_were_set_aside_and_warns_of_a_busy_machine(
    hits: int, is_busy: bool
) -> None:
    found = made()
    said = set_aside(replace(found, samples=100_000, stalls=replace(found.stalls, hits=hits))).plain
    assert f"{hits:,} stalls were set aside from 100,000 samples" in said
    assert ("calibrate again" in said) == is_busy
    assert set_aside(found).plain in rendered(report(found, Path("here.json")))


def rendered(shown: RenderableType) -> str:
    out = StringIO()
    Console(file=out, width=200).print(shown)
    return out.getvalue()


def test_figures_have_as_many_digits_as_mean_something() -> None:
    assert [micros(ns) for ns in (30, 2_340, 123_456, 1_234_567)] == ["0.03", "2.3", "123", "1,235"]
    assert [bytes_of(size) for size in (64, 4_096, 1 << 20)] == ["64 bytes", "4 KiB", "1 MiB"]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"seconds": 0.0}, "--seconds"),
        ({"seconds": float("nan")}, "--seconds"),
        ({"percentile": 100.0}, "--percentile"),
        ({"confidence": 0.0}, "--confidence"),
        ({"output": Path("no/such/folder/x.json")}, "--output"),
        ({"output": Path()}, "--output"),
    ],
)
def test_wrong_options_are_named_before_anything_is_measured(change: dict[str, object], field: str) -> None:
    options = {"seconds": 1.0, "percentile": 99.9, "confidence": 95.0, "output": Path("x.json"), **change}
    with pytest.raises(InvalidInput, match=field):
        require_sane(**options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("task", "options", "field"),
    [
        ("dance", {"duration_ns": 1}, "task"),
        ("turn", {"duration_ns": 0}, "duration_ns"),
        ("path", {"duration_ns": 1, "count": 1_001}, "count"),
        ("path", {"duration_ns": 1, "size_bytes": -1}, "size_bytes"),
        ("turn", {"duration_ns": 1, "samples_max": 0}, "samples_max"),
    ],
)
def test_the_core_refuses_to_measure_what_it_cannot(task: str, options: dict[str, int], field: str) -> None:
    with pytest.raises(InvalidInput, match=field):
        _core.measure(task, **options)


def test_samples_come_with_the_time_for_which_the_thread_was_away() -> None:
    found = _core.measure("path", duration_ns=10 * SECOND, size_bytes=64, count=2, samples_max=5)
    assert list(found) == ["take", "step", "write", "serve"]
    for whole_ns, away_ns in found.values():
        assert len(whole_ns) == len(away_ns) == 5
        assert all(0 <= away <= whole for whole, away in zip(whole_ns, away_ns, strict=True))


def test_work_of_which_nothing_was_seen_in_its_time_is_tried_again_for_longer() -> None:
    def slow_to_warm_up(task: Task, slice_ns: int) -> Measured:
        is_seen = task.name != "hop" or slice_ns >= 100_000_000
        return {task.name: ([1_000], [0]) if is_seen else ([], [])}

    findings = Findings()
    list(run(10_000_000, 100, slow_to_warm_up, findings))
    assert "hop" in {work.kind for work in findings.samples}
