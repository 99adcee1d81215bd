"""The least σ of a flow for each ρ, against every window that there is."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

np = pytest.importorskip("numpy")
pa = pytest.importorskip("pyarrow")

from giusto.pipeline.tables import envelope, pieces  # noqa: E402
from giusto.pipeline.tables.envelope import LIMIT, Piece, joined, piece_of  # noqa: E402

sizes = st.one_of(st.integers(0, 2), st.integers(0, 2**24))
instants = st.one_of(st.integers(0, 2_000), st.integers(0, 10**10))
flows = st.lists(st.tuples(instants, sizes), min_size=1, max_size=12).map(sorted)
offers = st.one_of(st.none(), st.integers(1, 2_000), st.integers(1, 2**46))


def of(messages: list[tuple[int, int]], min_sep_ns: int | None) -> Piece:
    """A piece of these instants and sizes."""
    at_ns, size_bytes = zip(*messages, strict=True)
    return piece_of(np.array(at_ns, np.int64), np.array(size_bytes, np.int64), min_sep_ns)


def every_window(at_ns: list[int], costs: list[int], a: int, b: int) -> int:
    """The largest excess, by looking at all pairs of messages."""
    return max(
        a * sum(costs[i : j + 1]) - b * (at_ns[j] - at_ns[i])
        for i in range(len(at_ns))
        for j in range(i, len(at_ns))
    )


@given(flows, offers)
def test_no_window_has_more_and_one_has_as_much(
    messages: list[tuple[int, int]], min_sep_ns: int | None
) -> None:
    found = of(messages, min_sep_ns)
    at_ns, size_bytes = [at for at, _ in messages], [size for _, size in messages]
    ones = [1] * len(messages)
    for excess, costs, rates in (
        (found.messages, ones, envelope.message_rates(min_sep_ns)),
        (found.bytes, size_bytes, envelope.BYTE_RATES),
    ):
        expected = [every_window(at_ns, costs, int(a), int(b)) for a, b in zip(*rates, strict=True)]
        assert excess.best.tolist() == expected
    assert found.closer == sum(later - earlier < (min_sep_ns or 0) for earlier, later in pairwise(at_ns))


def test_sizes_that_nobody_sends_do_not_wrap_around() -> None:
    found = of([(at, 2**32) for at in range(5_000)], None)
    for excess in found.bytes:
        assert (excess > LIMIT // 2).all()


@given(flows, offers, st.data())
def test_pieces_in_a_row_are_the_whole(
    messages: list[tuple[int, int]], min_sep_ns: int | None, data: st.DataObject
) -> None:
    cuts = sorted(data.draw(st.sets(st.integers(0, len(messages)))) | {0, len(messages)})
    parts = [of(messages[start:end], min_sep_ns) for start, end in pairwise(cuts)]
    found = parts[0]
    for part in parts[1:]:
        found = joined(found, part, min_sep_ns)
    assert pieces.row_of(found) == pieces.row_of(of(messages, min_sep_ns))


@given(flows, flows, offers)
def test_pieces_that_overlap_are_never_taken_for_less(
    ours: list[tuple[int, int]], theirs: list[tuple[int, int]], min_sep_ns: int | None
) -> None:
    found = joined(of(ours, min_sep_ns), of(theirs, min_sep_ns), min_sep_ns)
    whole = of(sorted(ours + theirs), min_sep_ns)
    assert (found.messages.best >= whole.messages.best).all()
    assert (found.bytes.best >= whole.bytes.best).all()
    if found.exact:
        assert found.messages.best.tolist() == whole.messages.best.tolist()


def test_a_silence_of_years_and_a_flood_of_terabytes_stay_in_64_bits() -> None:
    long_ago, now = of([(0, 2**24)], 2**46), of([(2**61, 2**24)], 2**46)
    found = joined(long_ago, now, 2**46)
    assert found.bytes.best.tolist() == [2**44] * len(envelope.BYTE_GRID)
    flood = replace(found, count=2**40, size_bytes=2**60)
    both = joined(flood, of([(2**61 + 1, 1)], 2**46), 2**46)
    assert ((both.bytes.best >= 2**44) & (both.bytes.best <= LIMIT)).all()


def test_a_row_is_a_piece_again() -> None:
    piece = of([(5, 100), (7, 200)], 10)
    again = pieces.piece_in(pieces.row_of(piece))
    assert pieces.row_of(again) == pieces.row_of(piece)
    # Three messages of 2 ns at 10 ns: the two of them are 20 - 2 ns, one too many by 8 ns.
    assert piece.messages.best[-1] == 18
    assert piece.closer == 1


def test_what_pieces_were_allowed_is_from_the_least_to_the_most() -> None:
    early, late = (
        replace(of([(at, 1)], 10), least_allowed_ns=n, most_allowed_ns=n) for at, n in ((5, 3), (9, 8))
    )
    unknown = of([(7, 1)], 10)
    for order in ((early, unknown, late), (unknown, late, early)):
        found = joined(joined(order[0], order[1], 10), order[2], 10)
        assert (found.least_allowed_ns, found.most_allowed_ns) == (3, 8)
    assert joined(unknown, unknown, 10).least_allowed_ns is None
    assert pieces.piece_in(pieces.row_of(early)).least_allowed_ns == 3


def sent(messages: list[tuple[int, int, int]]) -> list[pa.RecordBatch]:
    """Messages of flows, by number of the flow, instant and size; three numbers stand for all flows."""
    names = ("run", "publisher", "topic", "min_sep_ns", "sequence", "size_bytes", "t_sent_ns", "place")
    kinds = [pa.string()] * 3 + [pa.int64()] * 5
    rows = sorted(
        (((flow % 3) << pieces.SLICE_BITS | at_ns // 10**9), flow, at_ns, size)
        for flow, at_ns, size in messages
    )
    columns = list(
        zip(
            *(
                ("r", f"p{flow}", None, None, n, size, at, place)
                for n, (place, flow, at, size) in enumerate(rows)
            ),
            strict=True,
        )
    )
    arrays = [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
    return pa.table(arrays, names).to_batches(max_chunksize=3)


@given(st.lists(st.tuples(st.integers(0, 5), instants, sizes), min_size=1, max_size=30), st.randoms())
def test_flows_that_share_a_number_are_told_apart(
    messages: list[tuple[int, int, int]], draw: random.Random
) -> None:
    batches = sent(messages)
    again = [each for each in batches for _ in range(draw.randint(1, 2))]  # repeated, within their places
    again = pa.Table.from_batches(again).sort_by("place").to_batches(max_chunksize=2)
    found = [row for batch in pieces.fold_messages(again) for row in batch.to_pylist()]
    expected = {
        f"p{flow}": of(sorted((at, size) for one, at, size in messages if one == flow), None)
        for flow in {flow for flow, _, _ in messages}
    }
    assert len(found) == len(expected)
    for row in found:
        piece = expected[row["publisher"]]
        assert (row["count"], row["size_bytes"]) == (piece.count, piece.size_bytes)
        assert row["messages_best"] == piece.messages.best.tolist()
        assert row["bytes_best"] == piece.bytes.best.tolist()


@given(st.lists(st.integers(0, 4), max_size=40), st.integers(1, 8))
def test_places_are_never_cut(places: list[int], least: int) -> None:
    rows = pa.table([pa.array(sorted(places), pa.int64())], ["place"])
    found = list(pieces.whole_places(rows.to_batches(max_chunksize=3), least))
    assert [each for part in found for each in part["place"].to_pylist()] == sorted(places)
    seen = [set(part["place"].to_pylist()) for part in found]
    assert sum(len(each) for each in seen) == len(set(places))
