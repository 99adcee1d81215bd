"""What a paper claims: the contents of its `claims.toml`, or which of its values is wrong."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from giusto.config.names import quoted, require_known, table
from giusto.errors import InvalidInput, Missing
from giusto.papers.claim import COMPARISONS, Claim, Published

FILE = "claims.toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A figure that is drawn: its file's name, beside which figure of the paper it stands, what to see."""

    name: str
    place: str
    caption: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """A paper as data. `source` is its name in our documents, `about` what was run here and how."""

    title: str
    authors: str
    source: str
    about: str
    claims: tuple[Claim, ...]
    figures: tuple[Figure, ...]


def read(path: Path) -> Sheet:
    """The sheet of a file."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidInput("claims", path, f"a file that can be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidInput("claims", path, f"a TOML file: {error}") from None
    try:
        return from_document(document)
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {error.field}", error.value, error.expected) from None


def from_document(document: Mapping[str, Any]) -> Sheet:
    """The sheet that is described as in a file."""
    for section in document:
        require_known(section, ("paper", "claim", "figure"), quoted(section))
    claims = tuple(_claim(path, entry) for path, entry in _entries(document, "claim"))
    figures = tuple(
        Figure(**_values(path, entry, FIGURE_KINDS, set(FIGURE_KINDS)))
        for path, entry in _entries(document, "figure")
    )
    _require_different("claim", "id", [claim.id for claim in claims])
    _require_different("figure", "name", [figure.name for figure in figures])
    _require_corrected(claims)
    head = _values("paper", table(document.get("paper", {}), "paper"), PAPER_KINDS, set(PAPER_KINDS))
    return Sheet(**head, claims=claims, figures=figures)


def _entries(document: Mapping[str, Any], section: str) -> Iterator[tuple[str, dict[str, Any]]]:
    entries = document.get(section, [])
    if not isinstance(entries, list):
        raise InvalidInput(section, "a single value", f"an array of tables: [[{section}]]")
    for place, entry in enumerate(entries):
        yield f"{section}[{place}]", table(entry, f"{section}[{place}]")


PAPER_KINDS: dict[str, type] = dict.fromkeys(("title", "authors", "source", "about"), str)
FIGURE_KINDS: dict[str, type] = dict.fromkeys(("name", "place", "caption"), str)
CLAIM_KINDS: dict[str, type] = {
    **dict.fromkeys(("id", "place", "what", "unit", "compare", "why", "reason", "corrects", "outside"), str),
    **dict.fromkeys(("absolute", "relative"), float),
    "small": bool,
}


def _claim(path: str, entry: dict[str, Any]) -> Claim:
    given = dict(entry)
    published = _published(f"{path}.published", given.pop("published", None))
    given.setdefault("compare", _usual(published))
    claim = Claim(**_values(path, given, CLAIM_KINDS, {"id", "place", "what"}), published=published)
    _require_sane(path, claim)
    return claim


def _published(path: str, value: object) -> Published:
    if isinstance(value, list) and len(value) == 2 and all(map(_is_number, value)):
        return float(value[0]), float(value[1])
    if isinstance(value, bool | int | float | str):
        return value
    raise InvalidInput(path, value, "what the paper prints: a number, a text, yes or no, or [least, most]")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _usual(published: Published) -> str:
    """A range is a range, a number is met nearly, all else is met or not."""
    if isinstance(published, tuple):
        return "between"
    return "near" if _is_number(published) else "equal"


def _require_sane(path: str, claim: Claim) -> None:
    """A comparison that the published value allows, and a tolerance that somebody gave thought to."""
    require_known(claim.compare, COMPARISONS, f"{path}.compare")
    is_range, is_number = isinstance(claim.published, tuple), _is_number(claim.published)
    if (claim.compare == "between") != is_range or (claim.compare != "equal" and not (is_range or is_number)):
        raise InvalidInput(f"{path}.compare", claim.compare, f"one that {claim.published!r} can be used with")
    if min(claim.absolute, claim.relative) < 0:
        raise InvalidInput(f"{path}.absolute", claim.absolute, "a tolerance of at least 0")
    if (claim.absolute or claim.relative) and not claim.why:
        raise InvalidInput(f"{path}.why", claim.why, "a sentence that says where the tolerance comes from")


def _require_different(section: str, key: str, names: list[str]) -> None:
    for place, name in enumerate(names):
        if name in names[:place]:
            raise InvalidInput(f"{section}[{place}].{key}", name, "a name that no other one has")


def _require_corrected(claims: tuple[Claim, ...]) -> None:
    printed = {claim.id for claim in claims if not claim.corrects}
    for place, claim in enumerate(claims):
        if claim.corrects and claim.corrects not in printed:
            raise InvalidInput(f"claim[{place}].corrects", claim.corrects, "the id of a printed claim")


def _values(
    path: str, entry: dict[str, Any], kinds: Mapping[str, type], required: set[str]
) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in entry.items():
        require_known(key, kinds, f"{path}.{quoted(key)}")
        found[key] = _value(f"{path}.{key}", value, kinds[key])
    for key in sorted(required - set(found)):
        raise Missing(f"{path}.{key}", "a text")
    return found


def _value(path: str, value: object, kind: type) -> object:
    if kind is float and _is_number(value):
        return float(value)  # type: ignore[arg-type]
    if kind is str and isinstance(value, str) and value.strip():
        return " ".join(value.split())
    if kind is bool and isinstance(value, bool):
        return value
    expected = {str: "a text", float: "a number", bool: "true or false"}[kind]
    raise InvalidInput(path, value, expected)
