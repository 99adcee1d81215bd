"""What a claims.toml may say; what is wrong in it is named by its path."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from giusto.errors import InvalidInput
from giusto.papers.sheet import from_document, read

PAPER = {"title": "T", "authors": "A", "source": "S9", "about": "B"}


def document(*claims: dict[str, Any], **more: Any) -> dict[str, Any]:
    named = [{"id": f"c{n}", "place": "Fig. 1", "what": "it"} | claim for n, claim in enumerate(claims)]
    return {"paper": PAPER, "claim": named, **more}


def test_the_usual_comparison_follows_from_what_was_published() -> None:
    found = from_document(document(*({"published": value} for value in (3, "A", True, [1, 2])))).claims
    assert [claim.compare for claim in found] == ["near", "equal", "equal", "between"]


def test_texts_may_be_broken_into_lines() -> None:
    assert from_document(document({"published": 1, "what": "one\n  two"})).claims[0].what == "one two"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"paper": {"title": "T"}}, r"paper\.about is missing"),
        (document({"published": None}), r"claim\[0\]\.published = None"),
        (document({"published": 1, "publishd": 1}), r"claim\[0\]\.publishd = unknown: expected"),
        (document({"published": 1, "compare": "nearly"}), r"claim\[0\]\.compare = unknown: expected near"),
        (document({"published": "A", "compare": "near"}), r"claim\[0\]\.compare = near"),
        (document({"published": 1, "compare": "between"}), r"claim\[0\]\.compare = between"),
        (document({"published": 1, "absolute": 1}), r"claim\[0\]\.why = "),
        (document({"published": 1, "absolute": -1, "why": "x"}), r"claim\[0\]\.absolute = -1"),
        (document({"published": 1}, {"published": 1, "id": "c0"}), r"claim\[1\]\.id = c0"),
        (document({"published": 1, "corrects": "none"}), r"claim\[0\]\.corrects = none"),
        (document({"published": 1, "small": "no"}), r"claim\[0\]\.small = no: expected true or false"),
        (document({"published": 1, "place": " "}), r"claim\[0\]\.place"),
        (document(figure=[{"name": "f", "place": "Fig. 1"}]), r"figure\[0\]\.caption is missing"),
        (document(figure={}), r"figure = a single value"),
        (document(figures=[]), r"figures = unknown: expected figure"),
    ],
)
def test_what_is_wrong_is_named(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        from_document(wrong)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"claims = .*claims\.toml: expected a file that can be read"):
        read(tmp_path / "claims.toml")
    (tmp_path / "claims.toml").write_text("[paper")
    with pytest.raises(InvalidInput, match="expected a TOML file"):
        read(tmp_path / "claims.toml")
