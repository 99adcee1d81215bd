"""The page: which sections it has, in which order, and how it is kept to itself.

Nothing is loaded from anywhere, and nothing could be: the policy in its head allows the style and the script
inside it, by their hashes, and no more. It reads the same without the script, which only sorts tables.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from giusto.report import (
    basis,
    contracts,
    earnings,
    latency,
    losses,
    models,
    series,
    shares,
    verdict,
    violations,
)
from giusto.report.markup import Markup, element, joined, name, paragraph
from giusto.report.reading import Absent, Tables
from giusto.report.table import Row

if TYPE_CHECKING:
    import pyarrow as pa

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Section:
    """A heading, the table below it, and how that is drawn; an optional one is left out if it has no rows."""

    anchor: str
    title: str
    table: str
    columns: Sequence[str]
    draw: Callable[[pa.Table, Tables], Markup]
    optional: bool = False

    def body(self, tables: Tables) -> Markup:
        """What stands below the heading. Raises `Absent`."""
        found = tables.read(self.table, self.columns)
        return self.draw(found, tables) if len(found) or not self.optional else Markup()


def by_rows(draw: Callable[[list[Row]], Markup]) -> Callable[[pa.Table, Tables], Markup]:
    """For tables that are small enough to be read as rows."""
    return lambda table, _: draw(table.to_pylist())


def late(table: pa.Table, _: Tables) -> Markup:
    """For one that may not be."""
    return violations.section(table)


def latencies(table: pa.Table, tables: Tables) -> Markup:
    """For another, with the bounds that another table has."""
    return latency.section(*series.chosen(table, bounds_ns(tables)))


def bounds_ns(tables: Tables) -> dict[tuple[Any, Any], int]:
    """The bounds that were proved, by run and topic."""
    try:
        rows = tables.read("contract_audit", ["run", "topic", "proved_ns"]).to_pylist()
    except Absent:
        return {}
    return {(row["run"], row["topic"]): row["proved_ns"] for row in rows if row["proved_ns"]}


SECTIONS = (
    Section("contracts", "Contracts", "contract_audit", contracts.COLUMNS, by_rows(contracts.section)),
    Section("violations", "Violations", "violations", violations.COLUMNS, late),
    Section("latency", "Latency", "topic_latency", series.COLUMNS, latencies),
    Section("losses", "Losses", "losses", losses.COLUMNS, by_rows(losses.section)),
    Section("shares", "Shares of the processor", "shares", shares.COLUMNS, by_rows(shares.section)),
    Section("earnings", "Earnings", "earnings", earnings.COLUMNS, by_rows(earnings.section)),
    Section("links", "Links", "link_model", models.LINK_COLUMNS, by_rows(models.links), True),
    Section("arrivals", "Arrivals", "arrival_envelope", models.FLOW_COLUMNS, by_rows(models.flows), True),
    Section("service", "Service times", "quantum", models.QUANTUM_COLUMNS, by_rows(models.quanta), True),
)


def page(tables: Tables) -> str:
    """The whole file."""
    drawn, absent = bodies(tables)
    sections = (element("section", element("h2", each.title), body, id=each.anchor) for each, body in drawn)
    top = verdict.banner({**tables.verdict, "audited": audited(tables)})
    rest = basis.section(tables.verdict, absent)
    last = element("section", element("h2", "What this rests on"), rest, id="basis")
    head = header(tables, [each for each, _ in drawn])
    return document(joined([head, element("main", top, *sections, last)]), tables)


def bodies(tables: Tables) -> tuple[list[tuple[Section, Markup]], list[str]]:
    """The sections that are shown, and the tables that could not be."""
    drawn, absent = [], []
    for section in SECTIONS:
        try:
            body = section.body(tables)
        except Absent as reason:
            absent.append(section.table)
            body = Markup() if section.optional else paragraph(str(reason), class_="nothing")
        if body:
            drawn.append((section, body))
    return drawn, absent


def audited(tables: Tables) -> int:
    """Deliveries that had a contract."""
    try:
        return sum(tables.read("contract_audit", ["deliveries"])["deliveries"].to_pylist())
    except Absent:
        return 0


def header(tables: Tables, sections: Sequence[Section]) -> Markup:
    """Whose report this is, and the way to each section."""
    links = [(each.anchor, each.title) for each in sections] + [("basis", "What this rests on")]
    items = (element("a", title, href=f"#{anchor}") for anchor, title in links)
    return element(
        "header",
        paragraph(element("strong", "giusto"), " report", runs(tables), made(tables), class_="brand"),
        element("nav", *items, aria_label="Sections"),
    )


def runs(tables: Tables) -> Markup:
    """The runs, if they have names and are few."""
    named = tables.verdict.get("runs")
    if not isinstance(named, list) or not 0 < len(named) <= 3:
        return Markup()
    return joined([" · run ", *(part for each in named for part in (name(each), " "))])


def made(tables: Tables) -> Markup:
    """When the tables were made, so that an old page is seen to be one."""
    said = tables.verdict
    try:
        started = datetime.fromisoformat(str(said.get("started"))).astimezone(UTC)
        when = started + timedelta(seconds=float(said.get("seconds") or 0))
    except (ValueError, TypeError, OverflowError):
        return Markup()
    instant = element("span", f"{when:%Y-%m-%d %H:%M:%S} UTC", class_="whole")
    return joined([" · tables of ", instant])


def document(body: Markup, tables: Tables) -> str:
    """The HTML around it."""
    style, script = ((HERE / file).read_text(encoding="utf-8") for file in ("page.css", "page.js"))
    policy = f"default-src 'none'; style-src '{digest(style)}'; script-src '{digest(script)}'"
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", f"giusto report: {verdict.WORDS[verdict.kind(tables.verdict)]}"),
        element("style", Markup(style)),
    )
    whole = element("html", head, element("body", body, element("script", Markup(script))), lang="en")
    return f"<!doctype html>\n{whole}\n"


def digest(text: str) -> str:
    """How a policy names a text that it allows."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
