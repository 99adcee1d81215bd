"""How a plan looks to people: the same tables in a terminal, as text and in a notebook."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import TYPE_CHECKING, NamedTuple

from giusto.contract import show_ns
from giusto.planning.plain import share_fields

if TYPE_CHECKING:
    from giusto.planning.result import Compared, Contract, Failure, Plan
    from giusto.protocol import ShareTerms


class Table(NamedTuple):
    """Columns and rows of texts; columns in `right` are figures."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    right: frozenset[str] = frozenset()


def tables(plan: Plan) -> list[Table]:
    """What there is to show, without empty tables."""
    shown = [_contracts(plan), _failures(plan), _shares(plan), _comparison(plan)]
    return [table for table in shown if table.rows]


def remarks(plan: Plan) -> list[str]:
    """What is said below the tables."""
    return [
        plan.headline,
        plan.claim,
        f"utilisation {plan.utilisation:.1%} of the guarded part; rests on {plan.basis}",
    ]


def _contracts(plan: Plan) -> Table:
    columns = ("need", "client", "topic", "worst publisher", "promise", "bound", "slack")
    return Table("contracts", columns, [_contract(each) for each in plan.contracts], frozenset(columns[-3:]))


def _contract(contract: Contract) -> tuple[str, ...]:
    return (
        contract.need,
        contract.client,
        contract.topic,
        contract.publisher or "nobody yet",
        show_ns(contract.promise_ns),
        show_ns(contract.bound_ns),
        show_ns(contract.slack_ns),
    )


def _failures(plan: Plan) -> Table:
    columns = ("need", "client", "topic", "asked", "why", "reason", "nearest that holds")
    return Table(
        "what cannot be held", columns, [_failure(each) for each in plan.failures], frozenset(["asked"])
    )


def _failure(failure: Failure) -> tuple[str, ...]:
    asked = "" if failure.asked_ns is None else show_ns(failure.asked_ns)
    nearest = "" if failure.nearest is None else str(failure.nearest)
    return failure.need, failure.client, failure.pattern, asked, failure.why, failure.reason, nearest


def _shares(plan: Plan) -> Table:
    rows = [(topic, share_text(share)) for topic, share in plan.shares.items()]
    return Table(f"shares for {plan.input}", ("topic", "share"), rows)


def share_text(share: ShareTerms) -> str:
    """`weight 3`, `period 10 ms, deadline 4 ms`."""
    shown: dict[str, Callable[[int], str]] = {
        "period_ns": show_ns,
        "deadline_ns": show_ns,
        "virtual_deadline": lambda ticks: f"{ticks} ticks",
    }
    fields = share_fields(share).items()
    return ", ".join(
        f"{name.removesuffix('_ns').replace('_', ' ')} {shown.get(name, str)(value)}"
        for name, value in fields
    )


def _comparison(plan: Plan) -> Table:
    columns = ("policy", "all hold", "utilisation", "least slack", "load could be", "what is proved")
    return Table("policies", columns, [_compared(each) for each in plan.comparison], frozenset(columns[2:5]))


def _compared(compared: Compared) -> tuple[str, ...]:
    slack, factor = compared.worst_slack_ns, compared.load_factor
    return (
        compared.input,
        "yes" if compared.holds else f"no, {compared.failures} fail",
        f"{compared.utilisation:.1%}",
        "" if slack is None else show_ns(slack),
        "" if factor is None else f"{factor:.2f}×",
        compared.claim,
    )


def as_text(plan: Plan) -> str:
    """Tables with aligned columns."""
    return "\n\n".join([*(_aligned(table) for table in tables(plan)), "\n".join(remarks(plan))])


def _aligned(table: Table) -> str:
    lines = [table.columns, *table.rows]
    widths = [max(len(line[place]) for line in lines) for place in range(len(table.columns))]
    return "\n".join([table.title, *(_line(table, line, widths) for line in lines)])


def _line(table: Table, line: Sequence[str], widths: Sequence[int]) -> str:
    cells = (
        text.rjust(width) if name in table.right else text.ljust(width)
        for name, text, width in zip(table.columns, line, widths, strict=True)
    )
    return ("  " + "  ".join(cells)).rstrip()


def as_html(plan: Plan) -> str:
    """Tables for a notebook."""
    said = "".join(f"<p>{escape(remark)}</p>" for remark in remarks(plan))
    return "".join(_html(table) for table in tables(plan)) + said


def _html(table: Table) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in table.columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(text)}</td>" for text in row) + "</tr>" for row in table.rows
    )
    caption = f"<caption>{escape(table.title)}</caption>"
    return f"<table>{caption}<tr>{head}</tr>{body}</table>"
