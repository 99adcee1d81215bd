"""What is HTML and what is text: text is escaped wherever it enters, so that no name can become markup."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

# Characters that HTML has no place for, in names that came over a wire.
_STRANGE = dict.fromkeys((*range(9), 11, 12, *range(14, 32), 127), "\ufffd")
_VOID = frozenset({"br", "meta"})


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def markup(value: object) -> Markup:
    """`value` as it is, if it is HTML already, and escaped otherwise."""
    return value if isinstance(value, Markup) else Markup(escape(str(value).translate(_STRANGE)))


def joined(parts: Iterable[object]) -> Markup:
    """All of them, one after another."""
    return Markup("".join(markup(part) for part in parts))


def element(tag: str, /, *children: object, **attributes: object) -> Markup:
    """`<tag …>children</tag>`; `class_` is written class, `data_value` data-value, and `None` not at all."""
    opened = "".join(
        f' {_spelled(key)}="{markup(value)}"' for key, value in attributes.items() if value is not None
    )
    if tag in _VOID:
        return Markup(f"<{tag}{opened}>")
    return Markup(f"<{tag}{opened}>{joined(children)}</{tag}>")


def _spelled(attribute: str) -> str:
    return attribute.rstrip("_").replace("_", "-")


def name(value: object) -> Markup:
    """A name that somebody chose, kept apart from the direction of the text around it."""
    return element("bdi", "(none)" if value is None else value, class_="name")


def paragraph(*children: object, class_: str | None = None) -> Markup:
    """A paragraph."""
    return element("p", *children, class_=class_)
