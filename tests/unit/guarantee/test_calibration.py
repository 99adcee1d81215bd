"""A calibration as a value and as a file: what it says, and which files are refused."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from giusto.config import load
from giusto.errors import InvalidInput
from giusto.guarantee import calibration, fitting, machine, pooling, quantile
from giusto.guarantee.basis import costs_of
from giusto.guarantee.costs import RECORD_NS, Costs
from giusto.guarantee.measured import CALLS, KINDS, Calibration, Work

WHEN = datetime(2026, 11, 16, 1, 2, 3, tzinfo=UTC)
SIZES = (64, 1_024, 65_536)


def samples() -> dict[Work, list[int]]:
    """4,000 samples of each kind: three took twice as long as the others, one was hit by a stall of 10 ms."""
    work = {Work("take", size): 5_000 + size for size in SIZES}
    work |= {Work("write", size, 1): 8_000 + 2 * size for size in SIZES}
    work |= {Work("step", size, n): 1_000 + 300 * n for size in SIZES for n in (0, 1, 16)}
    work |= {Work("serve", size, n): 1_000 + 7_000 * n for size in SIZES for n in (0, 1, 16)}
    work |= {Work("filter", 0, 100): 60_000, Work("frame", 0, 100): 25_064, Work("excess", 0, 100): 5_164}
    work |= {Work(kind): 2_000 for kind in ("turn", "hop", *CALLS)}
    return {at: [cost] * 3_996 + [2 * cost] * 3 + [10_000_000] for at, cost in work.items()}


@cache
def made(**changes: Any) -> Calibration:
    options: dict[str, Any] = {"date": WHEN, "seconds": 20.0, "stall_seconds": 5.0, **changes}
    return calibration.fit(samples(), [50_000] * 999 + [7_000_000], **options)


def saved(folder: Path, change: Callable[[dict[str, Any]], object] = lambda fields: None) -> Path:
    path = folder / "calibration.json"
    calibration.save(made(), path)
    fields = json.loads(path.read_text())
    change(fields)
    path.write_text(json.dumps(fields))
    return path


def test_costs_are_the_percentile_and_not_a_rare_stall() -> None:
    costs = made(percentile=99.0).costs
    assert (costs.take.ns(64), costs.take.ns(65_536)) == (5_064, 70_536)
    assert (costs.step.fixed_ns, costs.deliver.fixed_ns) == (1_000, 300)
    assert costs.serve_ns(1_024, 10) == 71_000
    assert (costs.turn_ns, costs.call_ns, costs.hop_ns) == (2_000, 2_000, 2_000)
    assert costs.frame_ns == 251  # 25,064 for 100 of them
    assert costs.stall_ns == 9_999_000  # beyond the shortest work, of 1,000 ns


def test_too_few_samples_mean_the_largest_one_and_it_is_said() -> None:
    few = made(percentile=99.99)
    assert few.uncertain == few.points
    assert few.costs.turn_ns == 4_000
    assert made(percentile=99.0).uncertain == ()


def test_the_number_of_samples_that_a_percentile_needs() -> None:
    assert quantile.samples_needed(99.9, 95.0) == 2_995
    assert quantile.samples_needed(50.0, 50.0) == 1


def test_a_kind_of_work_that_was_not_measured_is_named() -> None:
    with pytest.raises(InvalidInput, match="hop"):
        calibration.fit(
            {at: list_ for at, list_ in samples().items() if at.kind != "hop"},
            [1],
            date=WHEN,
            seconds=1,
            stall_seconds=1,
        )


@pytest.mark.parametrize("field", ["percentile", "confidence"])
@pytest.mark.parametrize("value", [100.0, 49.0, float("nan"), float("inf"), -1.0])
def test_percentages_are_from_50_to_below_100(field: str, value: float) -> None:
    with pytest.raises(InvalidInput, match=field):
        made(**{field: value})


def test_a_saved_calibration_is_read_back_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "calibration.json"
    calibration.save(made(), path)
    assert calibration.read(path) == made()
    assert calibration.load(path) == made().costs
    expected = "calibration of 2026-11-16, p99.9 at 95 %, 135,966 samples, 34 stalls set aside"
    assert calibration.load(path).basis == expected


def test_a_failed_write_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = saved(tmp_path)
    before = path.read_bytes()

    def fail(handle: int) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="space"):
        calibration.save(made(), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_of_another_machine_is_refused_unless_that_is_allowed(tmp_path: Path) -> None:
    other = replace(machine.this_machine(), cpu="Z80", cores=1_000)
    path = tmp_path / "calibration.json"
    calibration.save(made(here=other), path)
    with pytest.raises(InvalidInput, match=r"the processor and the number of processors differ.*calibrate"):
        calibration.load(path)
    assert calibration.load(path, any_machine=True).basis.endswith("of another machine")


def test_a_file_of_another_build_is_refused(tmp_path: Path) -> None:
    path = saved(tmp_path, lambda fields: fields["machine"].update(source="0" * 64))
    with pytest.raises(
        InvalidInput, match=r"the build of giusto differs.*any_machine = true in \[guarantee\]"
    ):
        calibration.load(path)


def test_a_broker_takes_a_file_of_another_build_if_its_settings_allow_that(tmp_path: Path) -> None:
    path = saved(tmp_path, lambda fields: fields["machine"].update(source="0" * 64))
    flags = {"guarantee.calibration": str(path)}
    with pytest.raises(InvalidInput, match="calibration"):
        costs_of(load(environ={}, flags=flags))
    costs = costs_of(load(environ={}, flags=flags | {"guarantee.any_machine": True}))
    assert costs.basis.endswith("of another build")


def with_and_without_records(path: Path, flag: dict[str, object]) -> tuple[Costs, Costs]:
    """The costs of a broker with this calibration that keeps records, and of one that keeps none."""
    flags: dict[str, object] = {"guarantee.calibration": str(path)}
    return costs_of(load(environ={}, flags=flags | flag)), costs_of(load(environ={}, flags=flags))


KEEPING: list[dict[str, object]] = [{"records.capacity": 10}, {"trace.folder": "trace"}]


@pytest.mark.parametrize("flag", KEEPING)
def test_a_calibration_contains_what_records_cost(tmp_path: Path, flag: dict[str, object]) -> None:
    within, without = with_and_without_records(saved(tmp_path), flag)
    assert within == without == made().costs


@pytest.mark.parametrize("flag", KEEPING)
@pytest.mark.parametrize("record_ns", [None, 30])
def test_records_are_charged_for_where_a_calibration_was_made_without(
    tmp_path: Path, flag: dict[str, object], record_ns: int | None
) -> None:
    def change(fields: dict[str, Any]) -> None:
        del fields["costs"]["record_ns"]
        fields["costs"] |= {} if record_ns is None else {"record_ns": record_ns}

    within, without = with_and_without_records(saved(tmp_path, change), flag)
    each_ns = RECORD_NS if record_ns is None else record_ns
    for fan_out in (1, 7):
        more_ns = within.serve_ns(64, fan_out, more=2) - without.serve_ns(64, fan_out, more=2)
        assert more_ns >= (fan_out + 2) * each_ns
    assert within.take_ns(64) == without.take_ns(64) + each_ns
    assert (within.write, within.hop_ns) == (without.write, without.hop_ns)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b"", "JSON"),
        (b"[calibration]\n", "JSON"),
        (b"\xff\xfe", "JSON"),
        (b"[" * 100_000, "JSON"),
        (b'{"format": NaN}', "NaN is not a number"),
        (b"[]", "a JSON object"),
        (b"{}", "format 2"),
        (b'{"format": 1}', "format 2, not 1"),
    ],
)
def test_what_is_not_a_calibration_file_is_refused(tmp_path: Path, text: bytes, problem: str) -> None:
    path = tmp_path / "calibration.json"
    path.write_bytes(text)
    with pytest.raises(InvalidInput, match=problem) as refusal:
        calibration.load(path)
    assert "giusto calibrate" in str(refusal.value)


def test_a_file_that_is_not_there_is_refused_with_the_command_that_makes_one(tmp_path: Path) -> None:
    for path in (tmp_path / "none.json", tmp_path):
        with pytest.raises(InvalidInput, match="giusto calibrate"):
            calibration.load(path)


@pytest.mark.parametrize("value", [0, -1, 1.5, True, "7", None, 10**13])
@pytest.mark.parametrize(
    "field",
    [
        "filter_ns",
        "frame_ns",
        "turn_ns",
        "call_ns",
        "hop_ns",
        "stall_ns",
        "take",
        "step",
        "deliver",
        "write",
        "serve",
    ],
)
def test_costs_that_are_impossible_are_refused_by_name(tmp_path: Path, field: str, value: object) -> None:
    def spoil(fields: dict[str, Any]) -> None:
        inner = fields["costs"]
        if field.endswith("_ns"):
            inner[field] = value
        else:
            inner[field]["fixed_ns"] = value

    with pytest.raises(InvalidInput, match=rf"costs\.{field}"):
        calibration.load(saved(tmp_path, spoil))


@pytest.mark.parametrize("field", ["date", "seconds", "percentile", "confidence", "samples", "machine"])
def test_a_missing_field_is_named(tmp_path: Path, field: str) -> None:
    with pytest.raises(InvalidInput, match=f"{field} = missing"):
        calibration.load(saved(tmp_path, lambda fields: fields.pop(field)))


@pytest.mark.parametrize("field", ["points", "stalls", "costs"])
def test_another_value_in_the_place_of_an_object_is_refused(tmp_path: Path, field: str) -> None:
    for value in ([], 7, "x", None, [7]):
        with pytest.raises(InvalidInput, match=field):
            calibration.load(saved(tmp_path, lambda fields, value=value: fields.update({field: value})))


def test_costs_below_what_was_measured_are_refused(tmp_path: Path) -> None:
    def cheapen(fields: dict[str, Any]) -> None:
        fields["costs"]["hop_ns"] = 1

    with pytest.raises(InvalidInput, match="not below points"):
        calibration.load(saved(tmp_path, cheapen))


def test_costs_that_were_raised_by_hand_are_accepted(tmp_path: Path) -> None:
    path = saved(tmp_path, lambda fields: fields["costs"].update(call_ns=20_000_000))
    assert calibration.load(path).call_ns == 20_000_000


def test_every_kind_of_work_is_covered_by_the_costs() -> None:
    found = made()
    assert {point.work.kind for point in found.points} == set(KINDS)
    assert all(fitting.covered_ns(found.costs, point.work) >= point.cost_ns for point in found.points)


def test_the_processor_is_named_where_the_kernel_names_it() -> None:
    assert machine.cpu_model("processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\nmodel name\t: other") == (
        "Some CPU @ 2 GHz"
    )
    assert machine.cpu_model("processor\t: 0\n") is None
    assert machine.this_machine() == machine.this_machine()


def test_pieces_that_take_about_as_long_lend_each_other_samples() -> None:
    quiet, noisy = Work("take", 64), Work("take", 128)
    found = pooling.points_of({quiet: [1_000] * 50, noisy: [1_500] * 40 + [3_000] * 10}, 90.0, 90.0)
    assert [(point.cost_ns, point.certain) for point in found] == [(2_000, True), (3_000, True)]


@pytest.mark.parametrize("other", [Work("write", 64), Work("take", 1 << 20)])
def test_pieces_that_are_not_alike_do_not(other: Work) -> None:
    found = pooling.points_of(
        {Work("take", 64): [1_000] * 50, other: [1_500] * 40 + [3_000] * 10}, 90.0, 90.0
    )
    assert found[0].cost_ns == 1_000


def test_one_wild_sample_among_many_moves_nothing() -> None:
    wild = samples()
    wild[Work("serve", 64, 1)][0] = 10**9
    options: dict[str, Any] = {"date": WHEN, "seconds": 1.0, "stall_seconds": 1.0, "percentile": 99.0}
    with_it, without = (calibration.fit(given, [1], **options) for given in (wild, samples()))
    assert with_it.costs.serve == without.costs.serve
    assert with_it.costs.serve_each == without.costs.serve_each
    assert with_it.stalls.hits == without.stalls.hits + 1
    assert with_it.stalls.max_ns > 900_000_000 > without.stalls.max_ns


def test_the_default_costs_are_above_those_of_a_quiet_virtual_machine() -> None:
    costs = Costs()
    assert costs.take.ns(0) > 34_000
    assert costs.write.ns(0) > 35_000
    assert costs.call_ns > 295_000
    assert costs.hop_ns > 128_000
    assert costs.serve_ns(0, 1) > 64_000
