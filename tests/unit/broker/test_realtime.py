"""What is asked of the operating system, and what is said about the answer."""

from __future__ import annotations

import errno
import os

import pytest

from giusto.broker import realtime
from giusto.broker.realtime import Outcome
from giusto.config import Realtime


class Thread:
    """A data thread whose memory cannot be locked."""

    thread_id = 4711

    def lock_memory(self) -> None:
        raise OSError(errno.ENOMEM, "Cannot allocate memory")


def test_nothing_is_asked_unless_told() -> None:
    assert realtime.apply(Realtime(), Thread()) == []


def test_what_is_granted_and_what_is_refused_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[object, ...]] = []

    def refuse(*arguments: object) -> None:
        asked.append(arguments)
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "sched_setscheduler", refuse)
    monkeypatch.setattr(os, "sched_setaffinity", lambda *arguments: asked.append(arguments))
    monkeypatch.setattr(os, "sched_getaffinity", lambda thread: {2, 3})
    wanted = Realtime(priority=20, cpus=(2, 3), lock_memory=True, busy_poll=True)
    priority, cpus, memory, polling = realtime.apply(wanted, Thread())
    assert str(priority).startswith("SCHED_FIFO priority 20: refused, Operation not permitted; allow it with")
    assert cpus == Outcome("processors 2, 3")
    assert "LimitMEMLOCK" in str(memory)
    assert str(polling) == "busy polling: granted"
    assert asked == [(4711, os.SCHED_FIFO, os.sched_param(20)), (4711, (2, 3))]


def test_a_part_of_the_processors_is_not_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_setaffinity", lambda *arguments: None)
    monkeypatch.setattr(os, "sched_getaffinity", lambda thread: {2})
    (outcome,) = realtime.apply(Realtime(cpus=(2, 3)), Thread())
    assert str(outcome).startswith("processors 2, 3: refused, the thread got 2 alone; name processors")


def test_a_processor_that_is_not_there_is_refused_and_the_hint_says_what_to_do() -> None:
    class Here(Thread):
        thread_id = 0

    (outcome,) = realtime.apply(Realtime(cpus=(4_000,)), Here())
    assert outcome.refused is not None
    assert "taskset" in outcome.refused
