"""What a folder of results takes, what it refuses, and what it does with a file that a crash has left."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from giusto.errors import InvalidInput
from giusto.pipeline.cases import Cases, made
from giusto.pipeline.experiment import Outcome
from giusto.pipeline.folder import Folder

CODE = {"experiment": "module:function", "sources": "1234"}
CASES = made([{"rate": rate, "seed": seed} for rate in (1, 2) for seed in (0, 1)])
DIGESTS = list(CASES.rows)


def begun(path: Path, cases: Cases = CASES) -> Folder:
    folder = Folder(path)
    with folder.writing():
        folder.require_room(CODE, cases, resume=False)
        folder.begin(CODE, cases)
    return folder


def appended(path: Path, *outcomes: tuple[str, Outcome]) -> Folder:
    folder = Folder(path)
    with folder.writing():
        folder.append(CASES, list(outcomes))
    return folder


def good(value: float = 1.0) -> Outcome:
    return Outcome(0.1, {"value": value})


def flipped(data: bytes) -> bytes:
    """One bit of the first page's content is another one."""
    at = data.index(DIGESTS[1].encode())
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def test_outcomes_are_kept_by_case(tmp_path: Path) -> None:
    begun(tmp_path)
    appended(tmp_path, (DIGESTS[0], good()), (DIGESTS[1], Outcome(0.1, {}, "broke", "where")))
    folder = appended(tmp_path, (DIGESTS[2], Outcome(0.1, {"other": 2.0})))
    assert folder.finished() == {DIGESTS[0], DIGESTS[2]}
    assert folder.failed()[DIGESTS[1]]["error"] == "broke"
    assert folder.result_schema().names == ["case", "rate", "seed", "seconds", "other", "value"]
    assert folder.cases() == CASES


def test_a_case_that_went_well_later_has_not_failed(tmp_path: Path) -> None:
    begun(tmp_path)
    appended(tmp_path, (DIGESTS[1], Outcome(0.1, {}, "broke", None)))
    assert appended(tmp_path, (DIGESTS[1], good())).failed() == {}


def test_what_a_crash_left_half_written_is_not_seen_and_goes(tmp_path: Path) -> None:
    begun(tmp_path)
    half = tmp_path / "results" / ".new-part-000001.parquet"
    half.write_bytes(b"PAR1 and then the power went")
    folder = appended(tmp_path, (DIGESTS[0], good()))
    assert folder.finished() == {DIGESTS[0]}
    assert not half.exists()


@pytest.mark.parametrize("damaged", [lambda data: data[:-20], lambda data: b"", flipped])
def test_a_damaged_file_is_put_aside_by_the_writer_and_refused_by_readers(
    tmp_path: Path, damaged: Callable[[bytes], bytes]
) -> None:
    begun(tmp_path)
    appended(tmp_path, (DIGESTS[0], good()))
    folder = appended(tmp_path, (DIGESTS[1], good()))
    part = tmp_path / "results" / "part-000002.parquet"
    part.write_bytes(damaged(part.read_bytes()))
    with pytest.raises(InvalidInput, match=r"part-000002.*resume"):
        folder.finished()
    with folder.writing():
        assert folder.finished() == {DIGESTS[0]}
    assert folder.finished() == {DIGESTS[0]}


@pytest.mark.parametrize("damaged", [lambda data: data[:-20], lambda data: b"", flipped])
def test_a_damaged_summary_is_none(tmp_path: Path, damaged: Callable[[bytes], bytes]) -> None:
    folder = begun(tmp_path)
    folder.write_summary(CASES.table())
    assert folder.read_summary() is not None
    kept = tmp_path / "summary.parquet"
    kept.write_bytes(damaged(kept.read_bytes()))
    assert folder.read_summary() is None


def test_a_summary_of_another_sweep_is_none(tmp_path: Path) -> None:
    folder = begun(tmp_path / "one")
    pq.write_table(CASES.table(), folder.path / "summary.parquet")
    assert folder.read_summary() is None


def test_a_file_of_another_sweep_is_refused(tmp_path: Path) -> None:
    begun(tmp_path / "one")
    other = Folder(tmp_path / "two")
    with other.writing():
        other.begin({**CODE, "sources": "5678"}, CASES)
        other.append(CASES, [(DIGESTS[0], good())])
    shutil.copy(tmp_path / "two" / "results" / "part-000001.parquet", tmp_path / "one" / "results")
    with pytest.raises(InvalidInput, match="came from elsewhere"):
        Folder(tmp_path / "one").finished()


def test_a_file_of_nobody_is_refused(tmp_path: Path) -> None:
    folder = begun(tmp_path)
    pq.write_table(pa.table({"case": ["x"]}), tmp_path / "results" / "part-000001.parquet")
    with pytest.raises(InvalidInput, match="came from elsewhere"):
        folder.finished()


@pytest.mark.parametrize(
    ("code", "cases", "problem"),
    [
        (
            {**CODE, "experiment": "other:f"},
            CASES,
            "the same experiment: it holds module:function, not other:f",
        ),
        ({**CODE, "sources": "5678"}, CASES, "the same sources: it holds 1234, not 5678"),
        (CODE, made([{"rate": 1}]), "the same parameters"),
        (CODE, made([{"rate": 0.5, "seed": 1}]), r"rate \(whole\).*not rate \(number\)"),
    ],
)
def test_other_code_or_other_parameters_are_refused(
    tmp_path: Path, code: dict[str, str], cases: Cases, problem: str
) -> None:
    folder = begun(tmp_path)
    with folder.writing(), pytest.raises(InvalidInput, match=problem):
        folder.require_room(code, cases, resume=True)


def test_a_sweep_that_exists_is_gone_on_with_only_if_asked(tmp_path: Path) -> None:
    folder = begun(tmp_path)
    with folder.writing():
        folder.require_room(CODE, CASES, resume=True)
        with pytest.raises(InvalidInput, match="can be resumed"):
            folder.require_room(CODE, CASES, resume=False)


def test_new_cases_are_added_to_those_that_were(tmp_path: Path) -> None:
    folder = begun(tmp_path)
    more = made([{"rate": 3, "seed": 0}])
    with folder.writing():
        folder.begin(CODE, more)
    found = folder.cases()
    assert found is not None
    assert set(found.rows) == set(CASES.rows) | set(more.rows)


def test_a_folder_with_other_things_in_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    folder = Folder(tmp_path)
    with folder.writing(), pytest.raises(InvalidInput, match=r"it holds thesis\.tex"):
        folder.require_room(CODE, CASES, resume=True)


def test_cases_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    folder = begun(tmp_path)
    (tmp_path / "cases.parquet").write_bytes(b"")
    with pytest.raises(InvalidInput, match=r"cases\.parquet.*the cases of this sweep"):
        folder.cases()


def test_two_writers_at_once_are_refused(tmp_path: Path) -> None:
    folder = begun(tmp_path)
    with (
        folder.writing(),
        pytest.raises(InvalidInput, match="no other sweep writes"),
        Folder(tmp_path).writing(),
    ):
        raise AssertionError("two writers")


@pytest.mark.parametrize("text", ["{", "[]", '{"format": 1}', '{"format": 9, "parameters": {}}'])
def test_a_description_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "sweep.json").write_text(text)
    with pytest.raises(InvalidInput, match=r"sweep\.json"):
        Folder(tmp_path)


def test_a_folder_without_a_sweep_says_so(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="a folder with a sweep in it"):
        Folder(tmp_path).required()
