"""What wakes the thread that waits for the end of a broker: a signal, or somebody who rings.

A lock or a queue will not do: a signal that comes just before the thread blocks on it is noticed only when
something else wakes it. Here the interpreter writes the number of the signal into a socket in the very moment
it comes, and the thread reads from that.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

SIGNALS = (signal.SIGTERM, signal.SIGINT)


class Bell:
    """One waits, anybody rings."""

    def __init__(self) -> None:
        self._here, self._there = socket.socketpair()
        # The interpreter insists: a signal handler must not block. A full socket has rung often enough.
        self._there.setblocking(False)

    def ring(self) -> None:
        """Wake who waits, now or when it does; from any thread."""
        try:
            self._there.send(b"\0")
        except OSError:
            return  # Full, or closed since nobody waits any more.

    def wait(self) -> signal.Signals | None:
        """Which signal came, or `None` if somebody rang."""
        while True:
            number = self._here.recv(1)[0]
            if number == 0:
                return None
            if number in SIGNALS:
                return signal.Signals(number)

    @contextmanager
    def signals(self) -> Iterator[None]:
        """SIGTERM and SIGINT ring from here on; in the main thread alone, which is the one that gets them."""
        if not is_main_thread():
            yield
            return
        handlers = {number: signal.signal(number, lambda number, frame: None) for number in SIGNALS}
        descriptor = signal.set_wakeup_fd(self._there.fileno(), warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(descriptor)
            for number, handler in handlers.items():
                signal.signal(number, handler)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._here.close()
        self._there.close()


def is_main_thread() -> bool:
    """Whether this is the thread that gets the signals."""
    return threading.current_thread() is threading.main_thread()


@contextmanager
def signals_end_process() -> Iterator[None]:
    """A signal that rings no bell ends the process, without a traceback; afterwards it ends anyway."""
    if not is_main_thread():
        yield
        return
    for number in SIGNALS:
        signal.signal(number, lambda number, frame: os._exit(128 + number))
    try:
        yield
    finally:
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN)
