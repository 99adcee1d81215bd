"""The page on control frames lists what giusto.protocol has: every op with its fields, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from giusto.broker.exchange import BODY_BYTES_MAX
from giusto.protocol import AnyAnswer, AnyNotice, AnyRequest, NeedTerms, OfferTerms, ShareTerms

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "control.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| `(\w+)` \| (.*?) ?\| ", re.MULTILINE)


def rows(title: str) -> dict[str, set[str]]:
    """The first column of a section's first table, with the words in code of its second."""
    section = PAGE.partition(f"## {title}\n")[2].partition("\n## ")[0]
    table = section.partition("|---|")[2].partition("\n\n")[0]
    return {op: set(re.findall(r"`(\w+)`", fields)) for op, fields in ROW.findall(table)}


def ops(kinds: object) -> dict[str, set[str]]:
    """Every op of a union, with its fields but the id."""
    return {
        kind.__struct_config__.tag: {field.encode_name for field in msgspec.structs.fields(kind)} - {"id"}
        for kind in get_args(kinds)
    }


@pytest.mark.parametrize(
    ("title", "kinds"), [("Requests", AnyRequest), ("Answers", AnyAnswer), ("Notices", AnyNotice)]
)
def test_the_page_has_every_op_with_its_fields(title: str, kinds: object) -> None:
    assert rows(title) == ops(kinds)


@pytest.mark.parametrize(
    ("name", "terms"), [("offer", OfferTerms), ("need", NeedTerms), ("share", ShareTerms)]
)
def test_the_page_has_every_term(name: str, terms: type[msgspec.Struct]) -> None:
    (row,) = re.findall(rf"^\| `{name}` \| (.*) \|$", PAGE, re.MULTILINE)
    assert set(re.findall(r"`(\w+)`", row)) == set(terms.__struct_fields__)


def test_the_page_has_the_limit_of_a_body() -> None:
    assert f"{BODY_BYTES_MAX:,} bytes" in PAGE
