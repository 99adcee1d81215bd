"""What signals do to a pipeline: Ctrl-C ends it in good order and says how things are; again, at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

_Result = TypeVar("_Result")
ENDING = (
    "ending: the tables are brought up to date; Ctrl-C again ends now, and the next start goes on from here"
)


class Impatient(KeyboardInterrupt):
    """Ctrl-C while it was ending: nobody waits any more."""


def interruptible(work: Callable[[], _Result], said: Callable[[], str]) -> _Result:
    """Do the work in a thread, so that Ctrl-C meets no call to Spark half way.

    Spark is ended then, at which the work fails and tidies up. If all was done by then, it stays done.
    """
    from giusto.pipeline import jvm

    done: Future[_Result] = Future()
    thread = threading.Thread(target=fulfil, args=(done, work), name="giusto-pipeline", daemon=True)
    thread.start()
    try:
        return done.result()
    except KeyboardInterrupt:
        with impatience():
            jvm.end_now()
            thread.join()
        if done.exception() is None:
            return done.result()
        raise KeyboardInterrupt(said()) from None


def fulfil(done: Future[_Result], work: Callable[[], _Result]) -> None:
    """Keep what comes of the work, also if it is an exception."""
    try:
        done.set_result(work())
    except BaseException as error:
        done.set_exception(error)


@contextmanager
def impatience() -> Iterator[None]:
    """Ctrl-C here is the second one."""
    try:
        yield
    except KeyboardInterrupt:
        raise Impatient from None


def as_they_were(out: Path) -> str:
    """What a batch that was interrupted leaves, and a stream that had not begun."""
    if (out / "verdict.json").exists():
        return f"interrupted: the tables in {out} are as they were"
    return "interrupted: no tables were made"


@contextmanager
def until_told(has_begun: Callable[[], bool], say: Callable[[str], None]) -> Iterator[threading.Event]:
    """An event that Ctrl-C or SIGTERM sets, which is said; a second signal does what it did before.

    As long as nothing has begun there is nothing to bring to an end: Ctrl-C interrupts.
    """
    ended = threading.Event()
    signals = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.getsignal(number) for number in signals}

    def told(number: int, frame: object) -> None:
        for each in signals:
            signal.signal(each, before[each])
        if number == signal.SIGINT and not has_begun():
            raise KeyboardInterrupt
        ended.set()
        say(ENDING)

    for number in signals:
        signal.signal(number, told)
    try:
        yield ended
    finally:
        for number in signals:
            signal.signal(number, before[number])
