"""How tables and colours reach people: in place in a terminal, plain and one after the other in a pipe."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

# A pipe has no width: room for long names.
PIPE_COLUMNS = 200


def made_console() -> Console:
    """Where to print."""
    from rich.console import Console

    console = Console(highlight=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = PIPE_COLUMNS
    return console


def columns() -> int:
    """How wide it is now."""
    return made_console().width


def show(shown: RenderableType, console: Console | None = None) -> None:
    """Print below what was printed before; raises BrokenPipeError, as `print` does, if nobody reads."""
    console = made_console() if console is None else console
    with console.capture() as captured:
        console.print(shown)
    print(captured.get(), end="", flush=True)


@contextmanager
def screen(*, live: bool) -> Iterator[Callable[[RenderableType], None]]:
    """How to show something: in place of what was shown before, if `live` and in a terminal."""
    console = made_console()
    if not live or not console.is_terminal:
        yield lambda shown: show(shown, console)
        return
    from rich.live import Live

    with Live(console=console, auto_refresh=False, screen=True) as display:
        yield lambda shown: display.update(shown, refresh=True)
