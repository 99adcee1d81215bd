"""How far a paper is: a bar on stderr if somebody looks, nothing otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def bar(title: str) -> Iterator[Callable[[str, int, int], None]]:
    """A function that takes the experiment, the cases done and the cases in all."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(title, total=None)

        def report(experiment: str, done: int, total: int) -> None:
            progress.update(task, description=f"{title}: {experiment}", completed=done, total=total)

        yield report
