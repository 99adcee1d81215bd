"""Contracts on disk: what comes back, and what is never trusted."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from giusto.broker.rows import Kept, KeptNeed, KeptOffer, KeptShare, kept_in, name_of, row_of
from giusto.broker.store import SCHEMA, Store
from giusto.errors import InvalidInput, NotKept
from giusto.protocol import NeedTerms, OfferTerms, ShareTerms

NEED = KeptNeed("nurse alarm 1", "nurse", "alarm", NeedTerms(max_latency_ns=5_000_000))
OFFER = KeptOffer("monitor", "alarm", OfferTerms(min_sep_ns=10_000_000, max_size_bytes=256))
SHARE = KeptShare("alarm", ShareTerms(weight=7))


def opened(path: Path) -> tuple[Store, list[Kept]]:
    store = Store(path)
    return store, store.load()


def test_what_was_written_comes_back_in_the_same_order(tmp_path: Path) -> None:
    store, kept = opened(tmp_path / "contracts.db")
    assert (kept, store.remarks) == ([], [])
    store.change([OFFER], [])
    store.change([NEED, SHARE], [])
    store.close()
    assert opened(tmp_path / "contracts.db")[1] == [OFFER, NEED, SHARE]


def test_what_is_written_again_replaces_and_what_is_gone_is_gone(tmp_path: Path) -> None:
    store, _ = opened(tmp_path / "contracts.db")
    store.change([OFFER, SHARE], [])
    other = KeptShare("alarm", ShareTerms(weight=8))
    store.change([other], [name_of(OFFER)])
    assert store.load() == [other]


def test_a_change_is_made_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    store, _ = opened(tmp_path / "contracts.db")
    store.change([OFFER], [])
    with pytest.raises(NotKept):
        store.change([NEED, NEED], [name_of(OFFER)])
    assert store.load() == [OFFER]


def test_a_full_disk_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    store, _ = opened(tmp_path / "contracts.db")
    store._database.execute("PRAGMA max_page_count = 1")
    large = [KeptOffer("x" * 1000, f"topic/{number}", OfferTerms()) for number in range(100)]
    with pytest.raises(NotKept, match=r"full.*make room"):
        store.change(large, [])
    assert store.load() == []


def test_a_damaged_row_is_dropped_and_named_and_the_others_stand(tmp_path: Path) -> None:
    path = tmp_path / "contracts.db"
    store, _ = opened(path)
    store.change([OFFER, NEED, SHARE], [])
    store.close()
    with sqlite3.connect(path) as database:
        database.execute("UPDATE kept SET body = x'81' WHERE name LIKE 'need%'")
        database.execute("UPDATE kept SET digest = 'text' WHERE name LIKE 'share%'")
    database.close()
    store, kept = opened(path)
    assert kept == [OFFER]
    (remark,) = store.remarks
    assert "need nurse alarm 1, share alarm" in remark
    store.close()
    assert opened(path)[0].remarks == []


@pytest.mark.parametrize("content", [b"this is no database" * 100, b"SQLite format 3\0" + bytes(4096)])
def test_a_file_that_is_no_store_is_moved_aside(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "contracts.db"
    for number in (1, 2):
        path.write_bytes(content)
        store, kept = opened(path)
        assert kept == []
        aside = tmp_path / f"contracts.db.damaged-{number}"
        assert aside.read_bytes() == content
        assert any(str(aside) in remark for remark in store.remarks)
        store.change([OFFER], [])
        store.close()
        path.unlink()


def test_a_store_whose_pages_are_damaged_is_moved_aside(tmp_path: Path) -> None:
    path = tmp_path / "contracts.db"
    store, _ = opened(path)
    store.change([KeptOffer(f"c{number}", "alarm", OfferTerms()) for number in range(500)], [])
    store.close()
    content = bytearray(path.read_bytes())
    content[4096:] = bytes(len(content) - 4096)
    path.write_bytes(content)
    store, kept = opened(path)
    assert kept == []
    assert len(store.remarks) == 1
    assert (tmp_path / "contracts.db.damaged-1").exists()


def test_a_half_written_store_is_what_it_was_before(tmp_path: Path) -> None:
    """The log without its last bytes: the last change was not finished."""
    path, crashed = tmp_path / "contracts.db", tmp_path / "crashed.db"
    store, _ = opened(path)
    store.change([OFFER], [])
    store.change([NEED], [])
    log = (tmp_path / "contracts.db-wal").read_bytes()
    crashed.write_bytes(path.read_bytes())
    (tmp_path / "crashed.db-wal").write_bytes(log[:-100])
    store.close()
    assert opened(crashed)[1] == [OFFER]


def test_a_store_of_a_newer_giusto_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "contracts.db"
    store, _ = opened(path)
    store.change([OFFER], [])
    store._database.execute(f"PRAGMA user_version = {SCHEMA + 1}")
    store.close()
    before = path.read_bytes()
    with pytest.raises(InvalidInput, match="start the newer giusto that wrote it"):
        Store(path)
    assert path.read_bytes() == before


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"guarantee\.store = .*a directory that exists"):
        Store(tmp_path / "not there" / "contracts.db")


@given(st.integers(0, 10_000), st.integers(1, 255))
def test_no_byte_of_a_row_can_change_unnoticed(place: int, change: int) -> None:
    row = row_of(NEED)
    body = bytearray(row.body)
    body[place % len(body)] ^= change
    assert kept_in(row) == NEED
    assert kept_in(row._replace(body=bytes(body))) is None
    assert kept_in(row._replace(name=row.name + "x")) is None


def test_a_broker_has_its_store_alone(tmp_path: Path) -> None:
    path = tmp_path / "contracts.db"
    first = Store(path, alone=True)
    with pytest.raises(InvalidInput, match="another one has this"):
        Store(path, alone=True)
    first.close()
    Store(path, alone=True).close()


def test_names_with_blanks_are_not_mixed_up() -> None:
    one, other = KeptOffer("a", "b c", OfferTerms()), KeptOffer("a b", "c", OfferTerms())
    assert name_of(one) != name_of(other)
