"""Which duties a broker's configuration asks for, and when they begin and end."""

from __future__ import annotations

import hashlib
import logging
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Self

from giusto.broker import Broker
from giusto.client import Bus, connect
from giusto.config import BrokerConfig
from giusto.config.broker import STEWARD, Retain
from giusto.errors import InvalidInput, NotInstalled
from giusto.retain.log import Bounds, Log
from giusto.retain.staging import Staging
from giusto.steward.beside import Beside
from giusto.steward.claim import Claim
from giusto.steward.desk import Desk
from giusto.steward.duty import Duty
from giusto.steward.keeper import Keeper
from giusto.steward.models import Models
from giusto.steward.records import RecordFiles
from giusto.steward.sink import Intake, Sink

TEND_NS = 1_000_000_000

_log = logging.getLogger("giusto.steward")


def duties(config: BrokerConfig) -> list[Duty]:
    """What a configuration asks for; nothing unless it says so."""
    listening: list[Duty] = [Models(config.models)] if config.models.listen else []
    return [*listening, *retaining(config.retain), *tracing(config.trace.folder)]


def tracing(folder: str | None) -> list[Duty]:
    """Who hands out a trace."""
    return [] if folder is None else [RecordFiles(Path(folder)), Beside(Path(folder))]


def retaining(retain: Retain) -> list[Duty]:
    """Who keeps topics, answers for them and publishes."""
    if retain.folder is None:
        return []
    if find_spec("pyarrow") is None:
        raise NotInstalled("the Python package pyarrow, for retained topics", 'pip install "giusto[spark]"')
    folder = Path(retain.folder)
    try:
        claim = Claim(folder)
        keepers = [keeper(folder, pattern, retain) for pattern in retain.patterns]
        staging = Staging(folder / "sink")
        return [*keepers, Sink(staging), Intake(staging), Desk(keepers, claim)]
    except OSError as error:
        expected = f"a folder that can be written to: {error.strerror}"
        raise InvalidInput("retain.folder", retain.folder, expected) from None


def keeper(folder: Path, pattern: str, retain: Retain) -> Keeper:
    """Whoever keeps one pattern."""
    bounds = Bounds(retain.max_bytes, retain.max_age_ns, retain.until == "read", retain.sync_ns == 0)
    return Keeper(Log(folder / folder_name(pattern), pattern, bounds), sync_ns=retain.sync_ns)


def folder_name(pattern: str) -> str:
    """A folder for a pattern: readable, and no two patterns have the same."""
    readable = "".join(letter if letter.isalnum() else "_" for letter in pattern)[:40]
    return f"{readable}-{hashlib.sha256(pattern.encode()).hexdigest()[:8]}"


class Steward:
    """Does its duties at a broker of this process, from `start` or `with` until `stop`."""

    def __init__(self, broker: Broker, also: Sequence[Duty] = ()) -> None:
        self.duties = [*duties(broker.config), *also]
        self._broker = broker
        self._buses: list[Bus] = []
        self._begun: list[Duty] = []
        self._ending = threading.Event()
        self._tender = threading.Thread(target=self._tend, name="giusto-steward", daemon=True)

    @property
    def remarks(self) -> list[str]:
        """What whoever started the broker should know."""
        return [said for duty in self.duties for said in duty.remarks]

    @property
    def logs(self) -> dict[str, Log]:
        """What is kept, by pattern."""
        return {duty.log.pattern: duty.log for duty in self.duties if isinstance(duty, Keeper)}

    @property
    def unkept(self) -> dict[str, dict[str, int]]:
        """What is missing in logs, by pattern and by where it was lost."""
        keepers = (duty for duty in self.duties if isinstance(duty, Keeper))
        return {keeper.log.pattern: lost for keeper in keepers if (lost := keeper.lost)}

    def start(self) -> None:
        """Begin all duties, or none."""
        try:
            for number, duty in enumerate(self.duties):
                bus = connect(self._broker.address, name=f"{STEWARD}/{duty.name}-{number}")
                self._buses.append(bus)
                duty.begin(bus)
                self._begun.append(duty)
        except BaseException:
            self.stop()
            raise
        self._tender.start()

    def stop(self) -> None:
        """End all duties in order, also if one of them fails; its exception is raised at the end."""
        self._ending.set()
        if self._tender.ident is not None:
            self._tender.join()
        with ExitStack() as ending:
            # What is pushed first is called last.
            for bus in self._buses:
                ending.callback(bus.close)
            for duty in reversed(self._begun):
                ending.callback(duty.end)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def _tend(self) -> None:
        shortest_ns = min([TEND_NS, self._broker.config.retain.sync_ns or TEND_NS])
        while not self._ending.wait(max(shortest_ns, 10_000_000) / 1e9):
            for duty in self._begun:
                self._tend_to(duty)
            self._broker.unkept = self.unkept

    def _tend_to(self, duty: Duty) -> None:
        try:
            duty.tend()
        except Exception as error:
            # The next time is soon, and the other duties go on.
            _log.error("%s: %s", duty.name, error, exc_info=error)


@contextmanager
def attend(broker: Broker) -> Iterator[Steward]:
    """A steward for as long as a broker serves; says on standard error what it keeps."""
    with Steward(broker) as steward:
        for remark in steward.remarks:
            print(remark, file=sys.stderr)
        yield steward
