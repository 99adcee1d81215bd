"""The JVM that this process starts, and how it is ended at any moment, also before it answers."""

from __future__ import annotations

import logging
import os
import signal
import socketserver
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, cast

_ending = threading.Event()
_process: subprocess.Popen[bytes] | None = None


class Ended(Exception):
    """Spark was told to end in the middle of its work: `end_now`."""


class Jvm(subprocess.Popen[bytes]):
    """The process; it is known from its first moment on."""

    def __init__(self, *words: Any, **options: Any) -> None:
        global _process
        super().__init__(*words, **options)
        _process = self
        if _ending.is_set():
            end_now()


def launch(settings: Mapping[str, str], log: Path) -> None:
    """Start the JVM, unless one runs, in a session of its own; it says what it has to say in a file.

    A signal for all processes of a terminal or a service is for Python: it finishes, and ends the JVM.
    """
    from pyspark import SparkConf, SparkContext, java_gateway

    require_going_on()
    if SparkContext._gateway is None:
        chosen, untyped = SparkConf().setAll(list(settings.items())), cast(Any, java_gateway)
        with log.open("ab") as file, known_process(untyped):
            gateway = untyped.launch_gateway(chosen, {"start_new_session": True, "stderr": file})
        SparkContext._ensure_initialized(gateway=gateway)


@contextmanager
def known_process(gateways: Any) -> Iterator[None]:
    """PySpark keeps the process to itself until it answers: too late for who is interrupted before."""
    before = gateways.Popen
    gateways.Popen = Jvm
    try:
        yield
    finally:
        gateways.Popen = before


def end_now() -> None:
    """End the JVM whatever it does, and start none any more: this process is about to end.

    Whoever waits for Spark gets an exception, and can tidy up.
    """
    _ending.set()
    # Py4J would print every call that fails now, and PySpark every connection.
    logging.disable()
    setattr(socketserver.BaseServer, "handle_error", lambda *_: None)  # noqa: B010
    if _process is not None and _process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(_process.pid, signal.SIGTERM)


def end_jvm() -> None:
    """Close the JVM's standard input, at which it ends, and let the next session start another."""
    global _process
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    process = _process or getattr(gateway, "proc", None)  # somebody else may have started it
    SparkContext._gateway = SparkContext._jvm = _process = None
    if gateway is not None:
        with suppress(Exception):
            gateway.shutdown()
    if process is not None and process.stdin is not None:
        process.stdin.close()
        process.wait(timeout=30)


def require_going_on() -> None:
    """Raise `Ended` if Spark was told to end."""
    if _ending.is_set():
        raise Ended
