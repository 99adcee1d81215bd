"""Options that several commands have, spelled once."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

ADDRESS = "giusto://127.0.0.1:7447"

Address: TypeAlias = Annotated[
    str,
    typer.Option(
        "--address",
        "-a",
        envvar="GIUSTO_ADDRESS",
        metavar="URL",
        help="Where the broker is: giusto://host:port, giusto+udp://host:port or giusto+unix:///path.",
    ),
]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
Name: TypeAlias = Annotated[
    str | None, typer.Option("--name", metavar="NAME", help="Be known to others by this name.")
]
