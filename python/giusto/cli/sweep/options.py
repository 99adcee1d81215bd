"""Options that both commands have, spelled once."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

Master: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--master",
        metavar="URL",
        help="Where Spark runs: local[*] (here, all cores), local[4], spark://host:port, yarn or k8s://….",
        show_default=False,
    ),
]
