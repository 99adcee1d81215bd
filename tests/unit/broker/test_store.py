"""Contracts on disk: what comes back, and what is never trusted."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from shutil import copytree
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from giusto.broker.leaves import rows_in
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


def filled(path: Path, count: int) -> tuple[list[Kept], bytearray]:
    """Many rows, each written anew some times so that places have gaps; the bytes of the file."""
    rows: list[Kept] = [KeptOffer(f"c{number}", "alarm", OfferTerms()) for number in range(count)]
    store, _ = opened(path)
    store.change(rows, [])
    store.change(rows[::3], [])
    store.change(rows[::7], [])
    rows = store.load()
    store.close()
    return rows, bytearray(path.read_bytes())


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Kept], bytes]:
    rows, content = filled(tmp_path_factory.mktemp("large") / "contracts.db", 600)
    return rows, bytes(content)


@given(st.data())
@settings(max_examples=20)
def test_of_a_damaged_store_all_stands_that_is_not_in_the_damaged_pages(
    large: tuple[list[Kept], bytes], data: st.DataObject
) -> None:
    rows, content = large[0], bytearray(large[1])
    with TemporaryDirectory() as directory:
        path = Path(directory) / "contracts.db"
        pages = len(content) // 4096
        damaged = data.draw(st.sets(st.integers(1, pages - 1), min_size=1, max_size=3))
        junk = data.draw(st.sampled_from([0, 0x0D, 0xFF]))
        for page in damaged:
            content[page * 4096 : (page + 1) * 4096] = bytes([junk]) * 4096
        path.write_bytes(content)
        store, kept = opened(path)
        assert [row for row in rows if row in kept] == kept
        # A page has far fewer rows than this.
        assert len(kept) >= len(rows) - 100 * len(damaged)
        store.close()
        again, same = opened(path)
        again.close()
        assert (again.remarks, same) == ([], kept)


def test_what_is_lost_of_a_damaged_store_is_named(tmp_path: Path) -> None:
    path = tmp_path / "contracts.db"
    rows, content = filled(path, 1000)
    # After its name comes its body, a map.
    place = content.index(row_of(rows[500]).name.encode() + row_of(rows[500]).body)
    start = place // 4096 * 4096
    content[start : start + 4096] = bytes(4096)
    path.write_bytes(content)
    store, kept = opened(path)
    lost = [row for row in rows if row not in kept]
    assert 0 < len(lost) < 100
    (remark,) = store.remarks
    assert f"{len(kept)} stand, lost: " in remark
    assert all(name_of(row) in remark for row in lost)
    assert (tmp_path / "contracts.db.damaged-1").exists()


def test_a_damaged_index_costs_nothing(tmp_path: Path) -> None:
    path = tmp_path / "contracts.db"
    rows, content = filled(path, 1000)
    with closing(sqlite3.connect(path)) as database:
        query = "SELECT rootpage FROM sqlite_schema WHERE type = 'index'"
        (page,) = database.execute(query).fetchone()
    content[(page - 1) * 4096 : page * 4096] = bytes(4096)
    path.write_bytes(content)
    store, kept = opened(path)
    assert kept == rows
    assert "what is missing cannot be told" in store.remarks[0]


def test_without_the_root_of_the_rows_they_are_found_page_by_page(tmp_path: Path) -> None:
    path = tmp_path / "contracts.db"
    rows, content = filled(path, 1000)
    content[4096:8192] = bytes(4096)
    path.write_bytes(content)
    store, kept = opened(path)
    assert kept == rows
    assert "1000 stand, nothing is lost" in store.remarks[0]


@given(st.binary(max_size=2000), st.integers(1, 8))
def test_whatever_a_page_has_rows_are_made_of_whole_ones_only(junk: bytes, times: int) -> None:
    page = (b"\x0d" + junk * times)[:4096].ljust(4096, b"\0")
    first = b"SQLite format 3\0\x10\0".ljust(4096, b"\0")
    assert rows_in(first + page) == []


def test_a_store_of_which_nothing_can_be_read_is_moved_aside(tmp_path: Path) -> None:
    path = tmp_path / "contracts.db"
    _, content = filled(path, 500)
    content[4096:] = bytes(len(content) - 4096)
    path.write_bytes(content)
    store, kept = opened(path)
    assert kept == []
    assert len(store.remarks) == 1
    assert (tmp_path / "contracts.db.damaged-1").exists()


def test_a_crash_between_moving_the_damaged_file_and_putting_the_new_one_there_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "contracts.db"
    rows, content = filled(path, 1000)
    content[-4096:] = bytes(4096)
    path.write_bytes(content)

    class Crash(BaseException):
        pass

    def crash(self: Store) -> None:
        if not self.path.exists():
            raise Crash

    with monkeypatch.context() as patch:
        patch.setattr(Store, "_finish_replacing", crash)
        with pytest.raises(Crash):
            Store(path)
    assert not path.exists()
    assert len(opened(path)[1]) >= len(rows) - 100


def test_a_damaged_store_that_cannot_be_moved_is_an_error_that_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "contracts.db"
    path.write_bytes(b"this is no database" * 100)

    def refuse(self: Path, target: Path) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(InvalidInput, match=r"guarantee\.store = .*not permitted.*name another file"):
        Store(path)


@pytest.mark.parametrize("table", ["kept", "accounts"])
def test_a_database_of_another_program_is_refused_and_left_alone(tmp_path: Path, table: str) -> None:
    path = tmp_path / "contracts.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute(f"CREATE TABLE {table} (name TEXT)")
    before = path.read_bytes()
    with pytest.raises(InvalidInput, match="a database of another program"):
        Store(path)
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["contracts.db"]


def interrupted(path: Path) -> dict[str, bytes]:
    """The files of a store whose process is killed in the middle of a change, by what follows their name."""
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA journal_mode = TRUNCATE")
        database.execute("PRAGMA cache_size = 1")
        rows = [row_of(KeptOffer("x" * 1000, f"topic/{number}", OfferTerms())) for number in range(100)]
        database.executemany("INSERT INTO kept (name, body, digest) VALUES (?, ?, ?)", rows)
        files = {suffix: Path(f"{path}{suffix}").read_bytes() for suffix in ("", "-journal")}
        database.rollback()
    return files


def test_a_half_written_store_is_what_it_was_before(tmp_path: Path) -> None:
    path, crashed = tmp_path / "contracts.db", tmp_path / "crashed.db"
    store, _ = opened(path)
    store.change([OFFER], [])
    store.close()
    files = interrupted(path)
    assert files[""] != path.read_bytes()
    for suffix, content in files.items():
        Path(f"{crashed}{suffix}").write_bytes(content)
    store, kept = opened(crashed)
    assert (kept, store.remarks) == ([OFFER], [])


def test_a_journal_of_an_old_file_is_not_played_back_into_a_new_one(tmp_path: Path) -> None:
    path, other = tmp_path / "contracts.db", tmp_path / "other.db"
    filled(path, 1000)
    Store(other).close()
    journal = interrupted(other)["-journal"]
    path.rename(tmp_path / "contracts.db.salvaged")
    (tmp_path / "contracts.db-journal").write_bytes(journal)
    assert len(opened(path)[1]) == 1000
    path.unlink()
    (tmp_path / "contracts.db-journal").write_bytes(journal)
    store, kept = opened(path)
    assert (kept, store.remarks) == ([], [])


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Kept], dict[str, bytes]]:
    """Some rows, and the files of a broker that was killed when it had written them one by one."""
    rows: list[Kept] = [KeptOffer(f"c{number}", "alarm", OfferTerms()) for number in range(40)]
    path = tmp_path_factory.mktemp("killed") / "contracts.db"
    store = Store(path)
    for row in rows:
        store.change([row], [])
    files = {one.name: content for one in path.parent.iterdir() if (content := one.read_bytes())}
    store.close()
    return rows, files


@given(st.integers(0, 1 << 30))
@settings(max_examples=40)
def test_no_bit_of_what_a_kill_leaves_can_flip_so_that_a_contract_is_lost_without_a_word(
    killed: tuple[list[Kept], dict[str, bytes]], bit: int
) -> None:
    rows, files = killed
    name = sorted(files)[bit % len(files)]
    flipped = bytearray(files[name])
    flipped[bit // 8 % len(flipped)] ^= 1 << bit % 8
    with TemporaryDirectory() as directory:
        for one, content in files.items():
            Path(directory, one).write_bytes(flipped if one == name else content)
        try:
            store, kept = opened(Path(directory, "contracts.db"))
        except InvalidInput:
            # It says that it is of another program, or of a newer giusto: nothing is lost.
            return
        store.close()
    assert set(kept) <= set(rows)
    assert store.remarks or kept == rows


def test_a_damaged_name_that_is_no_text_any_more_is_damage_too(tmp_path: Path) -> None:
    path = tmp_path / "contracts.db"
    rows, content = filled(path, 10)
    place = content.index(b"tablesqlite_sequence") + len("table")
    content[place + 3] ^= 0x80
    path.write_bytes(content)
    store, kept = opened(path)
    assert kept == rows
    assert "was damaged" in store.remarks[0]


def test_a_store_that_was_cut_to_nothing_is_a_damaged_one(tmp_path: Path) -> None:
    path = tmp_path / "contracts.db"
    filled(path, 10)
    path.write_bytes(b"")
    store, kept = opened(path)
    assert kept == []
    assert "it is empty" in store.remarks[0]
    assert "what is missing cannot be told" in store.remarks[0]
    store.close()
    assert opened(path)[0].remarks == []


def test_a_broker_that_is_killed_in_its_first_start_can_be_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is there before each statement is what a kill would leave."""
    first = tmp_path / "first"
    first.mkdir()
    left: list[Path] = []

    def look(_: str) -> None:
        left.append(Path(copytree(first, tmp_path / f"killed-{len(left)}")))

    def traced(*arguments: Any, **options: Any) -> sqlite3.Connection:
        database = connect(*arguments, **options)
        database.set_trace_callback(look)
        return database

    connect = sqlite3.connect
    with monkeypatch.context() as patch:
        patch.setattr(sqlite3, "connect", traced)
        Store(first / "contracts.db").close()
    assert len(left) > 5
    for directory in left:
        store, kept = opened(directory / "contracts.db")
        assert (kept, store.remarks) == ([], [])
        store.change([OFFER], [])
        store.close()
        assert opened(directory / "contracts.db")[1] == [OFFER]


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
