"""The page about models names every field that a model has."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from giusto.models import EnvelopeModel, LinkModel, QuantumCost, QuantumModel, RatePoint

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "loop.md"


@pytest.mark.parametrize("kind", [EnvelopeModel, LinkModel, QuantumModel])
def test_the_table_of_a_model_names_its_fields_in_order(kind: type[msgspec.Struct]) -> None:
    table = PAGE.read_text("utf-8").partition(f"| `{kind.__name__}` |")[2].partition("\n\n")[0]
    first_cells = [row.split("|")[1] for row in table.splitlines()[2:]]
    named = [name for cell in first_cells for name in re.findall(r"`(\w+)`", cell)]
    assert named == [field.name for field in msgspec.structs.fields(kind)]


@pytest.mark.parametrize("kind", [RatePoint, QuantumCost])
def test_what_a_model_is_made_of_is_named_with_its_fields(kind: type[msgspec.Struct]) -> None:
    fields = ", ".join(field.name for field in msgspec.structs.fields(kind))
    assert f"`{kind.__name__}({fields})`" in PAGE.read_text("utf-8")
