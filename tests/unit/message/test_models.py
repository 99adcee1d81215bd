"""Pydantic models travel too, where pydantic is there."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Literal, Optional

import pytest

from giusto.errors import InvalidInput
from giusto.message import codec

pydantic = pytest.importorskip("pydantic")
Field = pydantic.Field


class Probe(pydantic.BaseModel):
    serial: Annotated[int, Field(ge=0, le=65_535)]
    kind: Literal["ecg", "spo2"] = "ecg"


class Bedside(pydantic.BaseModel):
    bed: str = Field(max_length=3, serialization_alias="b", validation_alias="b")
    probes: list[Probe] = Field(max_length=2)
    spare: Optional[Probe] = None  # noqa: UP045
    level: float = 0.0


class Open(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow")


class Computed(pydantic.BaseModel):
    @pydantic.computed_field
    def answer(self) -> int:
        return 42


class Noted(pydantic.BaseModel):
    when: datetime
    note: str


class Chain(pydantic.BaseModel):
    following: Chain | None = None


def test_a_model_is_as_long_as_its_fields_allow() -> None:
    found = codec(Bedside)
    probe = Probe(serial=65_535, kind="spo2")
    longest = Bedside(b="\U0001f600" * 3, probes=[probe, probe], spare=probe, level=0.5)
    assert len(found.encode(longest)) == found.max_size_bytes
    assert found.decode(found.encode(longest)) == longest


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (Open, "has extra fields"),
        (Computed, "has computed fields"),
        (Noted, "a str without max_length"),
        (Chain, "contains itself"),
        (pydantic.RootModel[int], "has a root type"),
    ],
)
def test_a_model_without_a_limit_says_why(model: Any, reason: str) -> None:
    found = codec(model)
    assert found.max_size_bytes is None
    assert reason in found.reason


def test_a_model_keeps_what_msgpack_knows() -> None:
    noted = Noted(when=datetime(2026, 1, 2, tzinfo=UTC), note="é")
    assert codec(Noted).decode(codec(Noted).encode(noted)) == noted


def test_what_is_not_the_model_is_refused() -> None:
    with pytest.raises(InvalidInput):
        codec(Probe).encode(Noted(when=datetime(2026, 1, 2), note=""))
    with pytest.raises(InvalidInput, match="serial"):
        codec(Probe).decode(codec(Bedside).encode(Bedside(b="1", probes=[])))
