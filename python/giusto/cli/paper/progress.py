"""How far a paper is, on stderr: a bar if somebody looks, a line for each experiment otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from giusto.cli.exits import say


class Lines:
    """Says once that an experiment has begun."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.begun: set[str] = set()

    def __call__(self, experiment: str, done: int, total: int) -> None:
        if experiment not in self.begun:
            self.begun.add(experiment)
            say(f"{self.title}: {experiment}")


@contextmanager
def bar(title: str) -> Iterator[Callable[[str, int, int], None]]:
    """A function that takes the experiment, the cases done and the cases in all."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield Lines(title)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(title, total=None)

        def report(experiment: str, done: int, total: int) -> None:
            progress.update(task, description=f"{title}: {experiment}", completed=done, total=total)

        yield report
