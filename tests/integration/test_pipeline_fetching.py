"""Record files of a broker that traces, brought over the bus: each whole and once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from giusto.broker import Broker
from giusto.config import BrokerConfig
from giusto.errors import Closed, NotRetained, Unreachable
from giusto.pipeline.fetching import Fetching
from giusto.pipeline.manifests import dropped
from giusto.pipeline.source.remote import Remote
from giusto.steward import Steward
from giusto.steward.beside import Beside
from giusto.steward.records import RecordFiles


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(BrokerConfig(listen=("tcp://127.0.0.1:0",))) as running:
        yield running


def here(fetching: Fetching) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((fetching.folder / "records").iterdir())}


def test_files_are_brought_once_and_not_again_when_they_are_known(broker: Broker, tmp_path: Path) -> None:
    trace = tmp_path / "trace" / "records"
    trace.mkdir(parents=True)
    bodies = {"hub-1-00000001.parquet": bytes(3_000_000), "hub-1-00000002.parquet": b"x" * 10}
    for name, body in bodies.items():
        (trace / name).write_bytes(body)
    (trace / ".hub-1-00000003.parquet.tmp").write_bytes(b"half")
    with Steward(broker, also=[RecordFiles(tmp_path / "trace")]):
        fetching = Fetching(broker.address, tmp_path / "out")
        try:
            assert fetching.bring() == 2
            assert here(fetching) == bodies
            assert fetching.bring() == 0
            # A stream has second names of them, and needs these no more.
            fetching.drop(bodies)
            (trace / "hub-1-00000003.parquet").write_bytes(b"new")
            assert fetching.bring(bodies) == 1
            assert here(fetching) == {"hub-1-00000003.parquet": b"new"}
        finally:
            fetching.close()


def test_files_of_another_broker_give_way(broker: Broker, tmp_path: Path) -> None:
    with Broker(BrokerConfig(listen=("tcp://127.0.0.1:0",))) as other:
        for number, each in enumerate((broker, other)):
            trace = tmp_path / str(number)
            (trace / "records").mkdir(parents=True)
            (trace / "records" / f"hub-{number}-00000001.parquet").write_bytes(b"x")
            with Steward(each, also=[RecordFiles(trace)]):
                fetching = Fetching(each.address, tmp_path / "out")
                try:
                    assert (fetching.bring(), fetching.bring()) == (1, 0)
                    assert list(here(fetching)) == [f"hub-{number}-00000001.parquet"]
                finally:
                    fetching.close()


def test_what_was_not_kept_and_what_records_do_not_say_come_too(broker: Broker, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    for folder, name in (("manifest", "hub-1.jsonl"), ("facts", "hub-1-00000001.json"), ("facts", ".half")):
        (trace / folder).mkdir(parents=True, exist_ok=True)
        (trace / folder / name).write_text('{"event": "dropped", "rows": 3, "reason": "ring"}\n')
    with Steward(broker, also=[RecordFiles(trace), Beside(trace)]):
        fetching = Fetching(broker.address, tmp_path / "out")
        try:
            fetching.bring()
            assert dropped(fetching.folder) == {"ring": 3}
            assert [path.name for path in (fetching.folder / "facts").iterdir()] == ["hub-1-00000001.json"]
            with (trace / "manifest" / "hub-1.jsonl").open("a") as manifest:
                manifest.write('{"event": "removed", "rows": 9, "reason": "age"}\n')
            fetching.bring()
            assert dropped(fetching.folder) == {"age": 9, "ring": 3}
            with pytest.raises(NotRetained, match="not a manifest or facts"):
                Remote(fetching.options).file_beside("manifest/../../secret.jsonl")
        finally:
            fetching.close()


def test_a_broker_that_is_back_is_asked_again(tmp_path: Path) -> None:
    (tmp_path / "trace" / "records").mkdir(parents=True)
    (tmp_path / "trace" / "records" / "hub-1-00000001.parquet").write_bytes(b"x")
    with Broker(BrokerConfig(listen=("tcp://127.0.0.1:0",))) as first:
        address = first.address
        fetching = Fetching(address, tmp_path / "out")
        with Steward(first, also=[RecordFiles(tmp_path / "trace")]):
            assert fetching.bring() == 1
    try:
        with pytest.raises((Closed, Unreachable)):
            fetching.bring()
        with Broker(BrokerConfig(listen=(address.replace("giusto:", "tcp:"),))) as second:
            with pytest.raises(NotRetained):  # its steward is not there yet
                fetching.bring()
            with Steward(second, also=[RecordFiles(tmp_path / "trace")]):
                assert fetching.bring() == 0
    finally:
        fetching.close()


def test_a_broker_that_does_not_trace_says_what_to_do(broker: Broker, tmp_path: Path) -> None:
    fetching = Fetching(broker.address, tmp_path)
    try:
        with pytest.raises(NotRetained, match="start that broker with --trace DIR"):
            fetching.bring()
    finally:
        fetching.close()


def test_no_broker_is_an_error_that_names_the_address(tmp_path: Path) -> None:
    with pytest.raises(Unreachable, match=r"127\.0\.0\.1:9"):
        Fetching("giusto://127.0.0.1:9", tmp_path).bring()
