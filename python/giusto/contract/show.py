"""How a contract looks: as the call that makes it, and as a table in a notebook."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape


def call(name: str, arguments: Mapping[str, object]) -> str:
    """`Offer(min_sep='20ms', max_size=256)`."""
    return f"{name}({', '.join(f'{field}={value!r}' for field, value in arguments.items())})"


def table(title: str, rows: Iterable[tuple[str, str]]) -> str:
    """A table of two columns under a title."""
    body = "".join(f"<tr><td>{escape(name)}</td><td>{escape(value)}</td></tr>" for name, value in rows)
    return f'<table><tr><th colspan="2">{escape(title)}</th></tr>{body}</table>'
