"""The report: one HTML file that says whether every promise was kept, and shows why.

    reading                     what a folder of tables holds, and what it lacks
    page                        which sections there are, in which order
    verdict, basis              the top and the bottom: the verdict, and what it rests on
    contracts, violations       every contract, and every delivery that was later than its bound
    series, latency             which latencies are drawn, and how
    losses, shares, earnings    what did not arrive, who got which part, what it was worth
    models                      links, arrivals and service times, as learned
    chart, scale, bar, table    drawings and tables
    markup, wording             escaping, and how numbers read

Everything below `reading` is a function from rows to HTML. The same tables give the same bytes. pyarrow is
imported when a table is read; Spark is not needed.
"""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["NAME", "write"]

NAME = "report.html"
"""What the page beside the tables is called."""


def write(folder: Path, out: Path | None = None) -> Path:
    """Write the report on the tables in `folder` to `out` (`report.html` beside them), whole or not."""
    from giusto.report.page import page
    from giusto.report.reading import tables

    found = tables(folder)
    path = found.folder / NAME if out is None else out
    beside = path.with_name(f".{path.name}.tmp")
    try:
        beside.write_text(page(found), encoding="utf-8")
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)
    return path
