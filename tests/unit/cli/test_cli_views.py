"""What `giusto views` makes of the matrices of a broker."""

from __future__ import annotations

import pytest

from giusto.cli.terminal import show
from giusto.cli.views import as_fields, page, rows
from giusto.protocol import ShareTerms, ViewsAre

SEEN = ViewsAre(
    id=1,
    topics=["a[/b]", "b"],
    clients=["x", "y"],
    shares=[ShareTerms(), ShareTerms(weight=7)],
    matrix_in=[[1, 0], [1, 0]],
    matrix_out=[[0, 0], [0, 1]],
    topics_more=1_200,
)


def test_a_topic_has_its_share_and_the_names_of_its_clients() -> None:
    assert rows(SEEN) == [["a[/b]", "–", "x, y", "–"], ["b", "weight 7", "–", "y"]]


def test_people_are_told_what_was_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    show(page(SEEN))
    printed = capsys.readouterr().out
    assert "a[/b]" in printed
    assert printed.endswith("1,200 more topics are not shown\n")


def test_the_fields_are_the_matrices() -> None:
    fields = as_fields(SEEN)
    assert fields["w"] == [{}, {"weight": 7}]
    assert (fields["matrix_in"], fields["matrix_out"]) == ([[1, 0], [1, 0]], [[0, 0], [0, 1]])
    assert (fields["topics_more"], fields["clients_more"]) == (1_200, 0)
