"""What is drawn agrees with what was measured."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_up import arrow, tables

from giusto.pipeline.tables.histogram import bucket_of
from giusto.report import basis, earnings, models, shares
from giusto.report.chart import HEIGHT, apart
from giusto.report.latency import binned
from giusto.report.scale import Linear, Log
from giusto.report.series import Series, chosen, points, quantile
from giusto.report.verdict import kind, provisos, sentence
from giusto.report.wording import counted, listed, number, percent, rounded, were

spans_ns = st.integers(1, 2**56)


@given(st.lists(spans_ns, min_size=1, max_size=200))
def test_a_quantile_of_a_histogram_is_within_one_percent(values: list[int]) -> None:
    counts = Counter(map(bucket_of, values))
    for share in ((1, 2), (99, 100), (1, 1)):
        exact = sorted(values)[math.ceil(len(values) * share[0] / share[1]) - 1]
        assert abs(quantile(counts, share) - exact) <= exact / 100 + 1


@given(st.dictionaries(st.integers(0, 3_600), st.integers(1, 10**9), max_size=50))
def test_no_delivery_is_left_out_of_the_bars(counts: dict[int, int]) -> None:
    assert sum(binned(counts).values()) == sum(counts.values())


@given(spans_ns, spans_ns, spans_ns)
def test_axes_keep_order_and_write_a_few_values_that_lie_on_them(a: int, b: int, c: int) -> None:
    low, middle, high = sorted((a, b, c))
    top = 2 * high
    for scale in (Log(low, top, 0, 300), Linear(low, top, 0, 300)):
        assert 0 == scale.at(low) <= scale.at(middle) <= scale.at(top) == 300
        ticks = scale.ticks()
        assert 1 <= len(ticks) <= 9
        assert all(low <= tick <= top for tick in ticks)


@given(st.lists(st.floats(0, HEIGHT - 40), min_size=1, max_size=4))
def test_labels_keep_their_order_and_do_not_touch(heights: list[float]) -> None:
    placed = apart(heights)
    order = sorted(range(len(heights)), key=lambda index: (heights[index], -index))
    for above, below in pairwise(order):
        assert placed[below] - placed[above] > 10.9


def test_the_worst_subscriptions_come_first_and_windows_stay_with_them() -> None:
    found, total = chosen(arrow(tables(6)["topic_latency"]), {("ward-3", "ward/3/alarm"): 7}, most=3)
    assert total == 4
    assert [series.row["topic"] for series in found] == ["ward/3/alarm", "ward/3/infusion", "ward/3/vitals"]
    for series in found:
        assert len(series.windows) == 6
        assert sum(series.histogram.values()) == series.row["count"] == 2_400
        assert series.row["max_ns"] == max(window["max_ns"] for window in series.windows)
    assert [series.row["proved_ns"] for series in found] == [7, None, None]


def test_a_subscription_without_a_number_or_a_name_is_one_of_its_own() -> None:
    rows = tables(2)["topic_latency"]
    nameless = [{**row, "subscriber": None, "subscription": None} for row in rows]
    found, total = chosen(arrow(rows + nameless), most=99)
    assert total == 8
    assert all(len(series.windows) == 2 for series in found)


def test_many_windows_become_few_points_that_lose_no_peak() -> None:
    found, _ = chosen(arrow(tables(40)["topic_latency"]), most=1)
    few = points(found[0], most=7)
    assert len(few) == 7
    assert max(point.max_ns for point in few) == found[0].row["max_ns"]
    whole = points(Series(found[0].row, found[0].windows, found[0].span_ns), most=1)[0]
    assert whole.p99_ns == pytest.approx(quantile(found[0].histogram, (99, 100)))


def test_the_share_of_a_flow_is_taken_while_it_had_work_waiting() -> None:
    names = ("window_start_ns", "client", "guarded", "quanta", "allotted_flow", "backlogged")
    told = [
        (0, "c", False, 30, 0.25, True),  # 30 of 100
        (0, "d", False, 70, None, True),
        (0, "e", True, 900, 1.0, True),  # of another class
        (1, "c", False, 0, 0.5, True),  # it waited, and got nothing of 200
        (1, "d", False, 200, None, True),
        (2, "c", False, 90, 0.9, False),  # nothing waited: does not count
    ]
    rows = [{"run": None, "node": "b", "topic": "t", **dict(zip(names, row, strict=True))} for row in told]
    flow, rest, guarded = shares.summed(rows, shares.FLOW)
    assert flow["share"] == pytest.approx(30 / 300)
    # What was allotted changed: a quarter of 100, then half of 200.
    assert flow["allotted"] == pytest.approx(125 / 300)
    assert (flow["quanta"], flow["backlogged"], flow["windows"]) == (120, 2, 3)
    assert (rest["share"], rest["allotted"]) == (0.9, None)
    assert (guarded["share"], guarded["allotted"]) == (1.0, 1.0)


def share_rows(*told: tuple[Any, ...]) -> list[dict[str, Any]]:
    """Rows of the table `shares`: window, topic, client, quanta, three allotments, whether it waited."""
    names = ("window_start_ns", "topic", "client", "quanta", "allotted_flow", "allotted_topic",
             "allotted_client", "backlogged")  # fmt: skip
    return [{"run": "r", "node": "b", "guarded": None, **dict(zip(names, row, strict=True))} for row in told]


def test_a_topic_or_client_has_waited_if_each_of_its_flows_has() -> None:
    # As in the table of cells: x has 3 of 5 quanta by a alone, y one by a and one by b.
    rows = share_rows(
        (0, "x", "a", 500, 0.6, 0.6, 0.8, True),
        (0, "y", "a", 300, 0.2, 0.4, 0.8, True),
        (0, "y", "b", 200, 0.2, 0.4, 0.2, True),
        (1, "x", "a", 90, 0.6, 0.6, 0.8, True),  # the others had nothing at all
        (2, "y", "a", 10, 0.2, 0.4, 0.8, False),
        (2, "y", "b", 90, 0.2, 0.4, 0.2, True),
    )
    x, y = shares.summed(rows, shares.TOPIC)
    assert (x["share"], x["allotted"], x["backlogged"]) == (590 / 1090, pytest.approx(0.6), 2)
    assert (y["share"], y["allotted"], y["backlogged"], y["windows"]) == (0.5, 0.4, 1, 2)
    a, b = shares.summed(rows, shares.CLIENT)
    assert (a["share"], a["allotted"], a["backlogged"], a["windows"]) == (0.8, 0.8, 1, 3)
    assert (b["share"], b["backlogged"]) == (290 / 1100, 2)
    page = shares.section(rows)
    assert "Topics, over all their flows" in page
    assert "Clients, over all their flows" in page


def test_a_topic_that_is_one_flow_is_said_once_unless_only_the_topic_has_an_allotment() -> None:
    alone = share_rows((0, "x", "a", 500, 0.5, 0.5, 0.5, True), (0, "y", "b", 500, 0.5, 0.5, 0.5, True))
    assert "over all their flows" not in shares.section(alone)
    # Under `fair`, which says nothing of clients; one that waits is enough.
    fair = share_rows((0, "x", "a", 500, None, 0.5, None, True), (0, "x", "b", 0, None, 0.5, None, False))
    (topic,) = shares.summed(fair, shares.TOPIC)
    assert (topic["allotted"], topic["backlogged"]) == (0.5, 1)
    assert "Topics, over all their flows" in shares.section(fair)
    assert "Clients, over all their flows" not in shares.section(fair)


def test_earnings_name_the_policy_where_it_is_known() -> None:
    rows = tables(1)["earnings"]
    assert '<bdi class="name">mtep</bdi>' in earnings.section(rows)
    assert "policy" in earnings.section([rows[0], {**rows[1], "policy": None}])
    assert "policy" not in earnings.section([{**row, "policy": None} for row in rows])


@pytest.mark.parametrize(
    ("found", "said", "words"),
    [
        ({"contracts": 2, "violations": 0, "audited": 1, "misses": 3, "largest_ratio": 0.113}, "held",
         "No delivery was later than promised; 1 delivery under 2 contracts, 0 violations; "
         "largest observed/promise 11.3\u00a0%; 3 deadlines missed."),
        ({"contracts": 1, "audited": 9, "with_bound": 9, "largest_ratio": 0.5, "proved_ratio": 0.75}, "held",
         "No delivery was later than promised; 9 deliveries under 1 contract, 0 violations; "
         "largest observed/bound 75.0\u00a0%, observed/promise 50.0\u00a0%."),
        ({"contracts": 1, "violations": 1, "uncertain": 4, "audited": 9, "largest_ratio": 1.5}, "violated",
         "1 delivery was later than promised; 9 deliveries under 1 contract, 1 violation, 4 uncertain; "
         "largest observed/promise 150\u00a0%."),
        ({"contracts": 1, "uncertain": 4, "audited": 9, "largest_ratio": 1.0001}, "uncertain",
         "4 deliveries were later than promised, but by less than the clocks may be apart; "
         "9 deliveries under 1 contract, 0 violations, 4 uncertain; "
         "largest observed/promise 100.010\u00a0%."),
        ({"contracts": 1, "audited": 9, "misses": 1, "largest_ratio": None}, "unpromised",
         "Nothing was promised for any delivery; 9 deliveries under 1 contract, 0 violations; "
         "1 deadline missed."),
        ({"deliveries": 9, "losses": {"policed": 2}}, "unpromised",
         "Nothing was promised for any delivery; 7 deliveries arrived, none of them under a contract."),
        ({"used": 0}, "empty",
         "There was no record that could be used; 0 deliveries arrived, none of them under a contract."),
    ],
)  # fmt: skip
def test_the_verdict_reads_as_a_sentence(found: dict[str, float], said: str, words: str) -> None:
    assert (kind(found), sentence(found)) == (said, words)


def test_what_a_stream_left_out_is_not_called_running() -> None:
    late = {"complete": False, "quarantined": {"late": 4, "order": 2}, "pending": 0}
    assert provisos(late) == [
        "4 records came too late for the stream and were left out: run with --once to have all of them."
    ]
    assert (
        "1 record came too late for the stream and was left out"
        in provisos({"complete": False, "quarantined": {"late": 1}})[0]
    )
    assert "1 record of time that has not ended" in provisos({"complete": True, "pending": 1})[0]
    assert provisos({"complete": True, "pending": 0}) == []


def test_records_that_are_missing_are_said_with_what_follows() -> None:
    dropped = {"sampling": 80, "ring": 1, "disk": 2}
    sampled = {"a1": {"sampling": 5, "dropped": dropped}}
    (said,) = provisos({"gaps": sampled})
    assert said == (
        "Of run a1 1 message in 5 was recorded and 3 records were dropped: counts and rates are of what was "
        "recorded, bursts may have been larger, and no service times are known."
    )
    lost = {f"seed-{n}": {"sampling": 1, "dropped": {"ring": 1}} for n in range(5)}
    (said,) = provisos({"gaps": lost})
    assert "Of run seed-0 1 record was dropped; of run seed-1" in said
    assert "; of 2 more runs not every record is there: counts" in said
    assert provisos({"gaps": {}}) == []


def test_a_bound_that_was_exceeded_is_said_also_if_the_promise_held() -> None:
    assert "later than the bound that was proved" in provisos({"proved_ratio": 1.01, "violations": 0})[0]
    assert provisos({"proved_ratio": 1.0}) == provisos({"proved_ratio": 1.5, "violations": 1}) == []


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ({"records": 9, "written": 9}, []),
        ({"records": 9}, []),
        ({"records": 9, "quarantined": {"duplicate file": 4}, "written": 5}, []),
        ({"records": 9, "quarantined": {"late": 1, "order": 2}, "quarantined_files": {"corrupt": 1}},
         ["3 records were left out"]),
        ({"records": 9, "quarantined_files": {"foreign": 1, "duplicate file": 3}}, ["1 file was left out"]),
        ({"records": 9, "written": 9, "dropped": {"ring": 1, "sampling": 90}}, ["91 records were dropped"]),
        ({"records": 9, "written": 13}, ["4 records were written and not read"]),
        # A stream has read files that are gone by now; a batch comes too late for some of them.
        ({"records": 9, "written": 9, "dropped": {"age": 5}}, []),
        ({"records": 9, "written": 13, "dropped": {"age": 3}},
         ["3 records were removed unread", "1 record was written and not read"]),
    ],
)  # fmt: skip
def test_what_is_missing_for_certain_is_said_and_nothing_else(found: dict[str, Any], said: list[str]) -> None:
    assert basis.gaps(found) == said
    assert ("Not every record" in basis.opening(found)) is bool(said)


def test_where_nobody_says_what_was_written_the_report_does_not_claim_it() -> None:
    assert "Every record that was written is" in basis.opening({"records": 9, "written": 9})
    assert "Every record that was found is" in basis.opening({"records": 9})
    assert basis.doubts({"records": 9}) == [
        "No manifest is beside the records: nobody says whether there were more."
    ]
    assert basis.doubts({"records": 9, "written": 9}) == []
    assert basis.doubts({"records": 9, "written": 9, "unended": 1, "forgotten": 2}) == [
        "A writer had not ended: what was in no file by then is not here.",
        "2 deliveries were removed from the table since, for their age.",
    ]


def test_a_promise_of_which_nothing_came_was_a_promise() -> None:
    assert kind({"contracts": 1, "with_bound": 3, "largest_ratio": None}) == "held"


def test_what_a_flow_offered_first_and_then_is_two_rows() -> None:
    common = {"run": "r", "publisher": "p", "topic": "t", "rho_hz": 10.0, "sigma_messages": 1.0}
    rows = [
        {**common, "min_sep_ns": gap, "offered": True, "kept": kept, "closer": closer, "count": messages}
        for gap, kept, closer, messages in ((10, True, 4, 30), (20, False, 3, 10))
    ]
    found = models.bursts(rows)
    assert [(flow["count"], flow["closer"], flow["kept"]) for flow in found] == [
        (30, 4, True),
        (10, 3, False),
    ]


def test_flows_that_broke_their_offer_come_before_those_that_sent_bursts_as_offered() -> None:
    flows = [
        {"run": "r", "publisher": who, "topic": "t", "min_sep_ns": gap, "kept": kept, "closer": closer}
        for who, gap, kept, closer in (
            ("calm", 10, True, 0),
            ("bursty", 10, True, 900),
            ("free", None, None, 0),
            ("unknown", 10, None, 5),
            ("greedy", 10, False, 2),
            ("greedier", 10, False, 7),
        )
    ]
    found = sorted(flows, key=models.broken_first)
    order = ["greedier", "greedy", "unknown", "bursty", "calm", "free"]
    assert [flow["publisher"] for flow in found] == order
    said = [models.offer_kept(flow) for flow in found]
    words = ["no", "no", "not known", "yes", "yes", "none made"]
    assert all(word in markup for word, markup in zip(words, said, strict=True))


def test_numbers_read_well() -> None:
    assert "\u00a0" in percent(0.5), "a line must not end before the unit"
    told = (0, 1e-9, 0.00042, 0.113, 0.99999, 1, 1.00001, 12.5, None)
    assert [percent(share).replace("\u00a0", " ") for share in told] == [
        "0 %",
        "< 0.001 %",
        "0.042 %",
        "11.3 %",
        "99.999 %",
        "100 %",
        "100.001 %",
        "1,250 %",
        "–",
    ]
    assert [rounded(each).replace("\u00a0", " ") for each in (0, 7, 1_234_567, 20_000_000, None)] == [
        "0 s",
        "7 ns",
        "1.23 ms",
        "20 ms",
        "–",
    ]
    assert [number(each) for each in (0, 1.5, 12_345.6789, None)] == ["0", "1.5", "12,345.679", "–"]
    assert [counted(each, "delivery") for each in (0, 1, 2)] == ["0 deliveries", "1 delivery", "2 deliveries"]
    assert [were(each, "file") for each in (1, 2)] == ["1 file was", "2 files were"]
    assert [listed(["a", "b", "c"][:size]) for size in (1, 2, 3)] == ["a", "a and b", "a, b and c"]
