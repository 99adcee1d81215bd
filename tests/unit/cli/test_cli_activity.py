"""What `giusto top` makes of two looks at a broker."""

from __future__ import annotations

import msgspec
import pytest

from giusto.cli.activity import activity, as_fields, client_cells, topic_cells
from giusto.cli.terminal import show
from giusto.cli.top import NAME_LEAST, shortened, tables
from giusto.models import ModelVerdict
from giusto.protocol import ClientStatus, ShareTerms, StatusIs, TopicStatus


def topic(name: str, bound_ns: int | None = None, **counters: int) -> TopicStatus:
    return TopicStatus(name, ShareTerms(), 1, 2, counters, 10_000, 2_000_000, 3_000_000, bound_ns)


def client(number: int, served: int, **dropped: int) -> ClientStatus:
    return ClientStatus(number, f"c{number}", "tcp://127.0.0.1:1", served, 4, dropped)


def status(
    seconds: float, topics: list[TopicStatus], clients: list[ClientStatus], run: str = "a"
) -> StatusIs:
    uptime_ns = round(seconds * 1e9)
    return StatusIs(
        id=1,
        run=run,
        version="0",
        uptime_ns=uptime_ns,
        now_ns=uptime_ns,
        input="twrr",
        output="fifo",
        topics=topics,
        clients=clients,
    )


def test_rates_are_of_the_time_between_two_looks() -> None:
    before = status(10, [topic("a", ingested=1000)], [client(0, 500)])
    after = status(12, [topic("a", ingested=1600)], [client(0, 800)])
    seen = activity(after, before)
    assert [row.rate_hz for row in seen.topics] == [300]
    assert [row.rate_hz for row in seen.clients] == [150]


def test_one_look_alone_gives_rates_since_the_start() -> None:
    seen = activity(status(4, [topic("a", ingested=1000)], []))
    assert seen.topics[0].rate_hz == 250


def test_another_run_of_the_broker_is_not_compared_with_the_last() -> None:
    before = status(100, [topic("a", ingested=9000)], [client(0, 9000)], run="before")
    seen = activity(status(2, [topic("a", ingested=10)], [client(0, 10)], run="after"), before)
    assert seen.topics[0].rate_hz == 5
    assert seen.clients[0].rate_hz == 5


def test_theta_is_the_part_of_what_was_served() -> None:
    before = status(1, [], [client(0, 100), client(1, 100)])
    seen = activity(status(2, [], [client(0, 130), client(1, 110), client(2, 0)]), before)
    assert [(row.client, row.theta) for row in seen.clients] == [("c0", 0.75), ("c1", 0.25), ("c2", 0.0)]


def test_nobody_served_gives_no_share_to_anybody() -> None:
    assert activity(status(0, [], [client(0, 0)])).clients[0].theta == 0


def test_what_was_lost_is_shown_by_reason_and_what_was_not_lost_is_not() -> None:
    counters = {"ingested": 9, "selected": 9, "delivered": 7, "late": 1, "unmatched": 1}
    seen = activity(status(1, [topic("a", policed=3, overflow=0, **counters)], []))
    assert seen.topics[0].dropped == {"policed": 3}


def test_the_busiest_topics_come_first() -> None:
    seen = activity(status(1, [topic("b", ingested=1), topic("a", ingested=1), topic("c", ingested=5)], []))
    assert [row.topic for row in seen.topics] == ["c", "a", "b"]


@pytest.mark.parametrize(("bound_ns", "shown"), [(None, "–"), (1_840_000, "1.84 ms")])
def test_a_row_for_people_has_units(bound_ns: int | None, shown: str) -> None:
    row = activity(status(1, [topic("a", bound_ns, ingested=12_345, dropped=7)], [])).topics[0]
    assert topic_cells(row) == ["a", "1→2", "12,345/s", "10 µs", "2 ms", "3 ms", shown, "–", "7 dropped"]


def test_a_client_for_people_has_its_share_in_percent() -> None:
    row = activity(status(1, [], [client(0, 3, expired=1), client(1, 1)])).clients[0]
    assert client_cells(row) == ["c0", "3.0/s", "75.0 %", "–", "4", "1 expired"]


def test_a_number_that_is_anothers_now_starts_from_nothing() -> None:
    before = status(1, [], [client(0, 900), client(1, 900)])
    other = ClientStatus(0, "newcomer", "tcp://127.0.0.1:2", 30, 0)
    back = ClientStatus(1, "c1", "tcp://127.0.0.1:3", 10, 0)
    seen = activity(status(2, [], [other, back]), before)
    assert [(row.client, row.rate_hz, row.theta) for row in seen.clients] == [
        ("newcomer", 30, 0.75),
        ("c1", 10, 0.25),
    ]


def test_a_topic_that_was_forgotten_in_between_has_no_negative_rate() -> None:
    before = status(1, [topic("a", ingested=1000)], [])
    assert activity(status(2, [topic("a", ingested=5)], []), before).topics[0].rate_hz == 5


def test_names_that_look_like_markup_are_shown_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    odd = ClientStatus(0, "[bold]x", "", 1, 0)
    show(tables(activity(status(1, [topic("a[/b]", ingested=1)], [odd])), 80))
    printed = capsys.readouterr().out
    assert "a[/b]" in printed
    assert "[bold]x" in printed


def test_what_the_broker_lost_and_refused_as_a_whole_is_shown_if_there_is_any(
    capsys: pytest.CaptureFixture[str],
) -> None:
    quiet = activity(status(1, [], []))
    assert quiet.apart == {}
    totals, refused = {"ingested": 9, "policed": 2}, {"protocol": 1, "files": 0}
    seen = activity(msgspec.structs.replace(status(1, [], []), totals=totals, refused=refused))
    fields = as_fields(seen)
    assert (fields["lost"], fields["refused"]) == ({"policed": 2}, {"protocol": 1})
    show(tables(seen, 80))
    printed = capsys.readouterr().out
    assert "lost since the start: 2 policed" in printed
    assert "refused: 1 protocol" in printed


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_narrow_terminal_loses_what_matters_less_and_the_middle_of_names(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    name = "ward/3/" + "bed/" * 20 + "alarm"
    show(tables(activity(status(1, [topic(name, ingested=12_345, policed=7)], [])), width))
    head, row = [line for line in capsys.readouterr().out.splitlines() if "topic" in line or "…" in line]
    assert {"topic", "rate", "p99", "dropped"} <= {*head.split()}
    assert ("p50" in head) is (width == 120)
    assert row.strip().startswith("ward/3/")
    assert row.strip().endswith("7 policed")


def test_a_name_that_is_cut_keeps_both_ends() -> None:
    assert shortened("abcdefghij", 10) == "abcdefghij"
    assert shortened("abcdefghijk", 10) == "abcde…hijk"
    assert len(shortened("x" * 99, NAME_LEAST)) == NAME_LEAST


def test_a_topic_of_which_nothing_was_delivered_has_no_delays() -> None:
    still = TopicStatus("a", ShareTerms(), 1, 0, {"ingested": 3}, 0, 0, 0, None)
    assert topic_cells(activity(status(1, [still], [])).topics[0])[3:6] == ["–", "–", "–"]


def test_a_model_that_changes_something_has_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    kept = ModelVerdict(kind="link", subject="link a -> b", decision="kept", reason="as before")
    applied = ModelVerdict(
        kind="quantum", subject="quanta at a", decision="applied", reason="every promise holds"
    )
    seen = activity(msgspec.structs.replace(status(1, [], []), models=[kept, applied]))
    assert [one["decision"] for one in as_fields(seen)["models"]] == ["kept", "applied"]
    show(tables(seen, 80))
    printed = capsys.readouterr().out
    assert "quanta at a: applied, every promise holds" in printed
    assert "as before" not in printed
