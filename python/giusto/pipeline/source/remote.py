"""Questions to the steward of a broker, and its answers; one connection for each process and address."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from giusto.client import Bus, connect
from giusto.errors import Closed, GiustoError, InvalidInput, NotRetained, Refused, RequestFailed, TimedOut
from giusto.pipeline.source.options import Options
from giusto.retain import columns, requests
from giusto.retain.requests import (
    Abort,
    Commit,
    Count,
    Done,
    Fetch,
    FetchFile,
    Find,
    Head,
    LogIs,
    Part,
    Publish,
    Published,
    RecordFile,
    Stage,
    Written,
)

if TYPE_CHECKING:
    import pyarrow as pa

_Any = TypeVar("_Any")
COMMIT_NS = 600 * 1_000_000_000
"""Publishing an epoch may take longer than other answers."""
NOTHING_KEPT = "not retained: the broker keeps no topics; set retain.folder and retain.patterns there"
NOT_TRACED = "the broker keeps none; start it with --trace FOLDER"
NO_ROWS = "the broker takes no rows; set retain.folder there"
VOLATILE = "a stream with the option volatile=true reads topics as they are, at most once"

_log = logging.getLogger("giusto.pipeline")
_buses: dict[tuple[int, str], Bus] = {}


def bus_of(url: str) -> Bus:
    """The connection of this process; a worker of Spark has it for many tasks."""
    key = (os.getpid(), url)
    if key not in _buses:
        _buses[key] = connect(url, reconnect=False)
    return _buses[key]


def forget(url: str) -> None:
    """Close the connection; the next question makes another."""
    bus = _buses.pop((os.getpid(), url), None)
    if bus is not None:
        bus.close()


class Remote:
    """The steward of one broker."""

    def __init__(self, options: Options) -> None:
        self._url, self._timeout_ns = options.url, options.timeout_ns

    def require_broker(self) -> None:
        """Raise `Unreachable` if it is not there."""
        bus_of(self._url)

    def require_sink(self) -> None:
        """Raise `NotRetained` if nobody stages rows there."""
        self._require_served(requests.SINK + "stage", "sink", NO_ROWS)

    def require_records(self) -> None:
        """Raise `NotRetained` if it keeps none."""
        self._require_served(requests.RECORDS + "list", "records", NOT_TRACED)

    def find(self, pattern: str) -> LogIs:
        """The log that has these topics; `NotRetained` if there is none."""
        try:
            self._require_served(requests.LOG + "find", pattern, NOTHING_KEPT)
            return self._ask(requests.LOG + "find", Find(pattern), LogIs)
        except NotRetained as error:
            raise NotRetained(error.log, f"{error.problem}; {VOLATILE}") from None

    def _require_served(self, topic: str, what: str, problem: str) -> None:
        """A question that nobody answers is not asked."""
        if not self._with_bus(lambda bus: bus.subscribers(topic)):
            raise NotRetained(what, problem)

    def head(self, log: str) -> LogIs:
        """How far a log is."""
        return self._ask(requests.LOG + "head", Head(log), LogIs)

    def fetch(self, asked: Fetch) -> Iterator[pa.Table]:
        """All rows of a range, in portions."""
        start = asked.start
        while start < asked.end:
            part = self._whole(msgspec.structs.replace(asked, start=start))
            if part.damaged:
                said = "log %s: %d rows from position %d to %d were damaged"
                _log.warning(said, asked.log, part.damaged, start, part.next - 1)
            if part.body:
                yield columns.decode(part.body)
            start = part.next

    def _whole(self, asked: Fetch) -> Part:
        part = self._ask(requests.LOG + "fetch", asked, Part)
        body = part.body
        while len(body) < part.size:
            more = self._ask(requests.LOG + "fetch", msgspec.structs.replace(asked, skip=len(body)), Part)
            body += more.body
        return msgspec.structs.replace(part, body=body)

    def commit(self, log: str, query: str, position: int) -> None:
        """A query has done with all before `position`."""
        self._ask(requests.LOG + "commit", Commit(log, query, position), Done)

    def stage(self, id: str, rows: int, body: bytes) -> None:
        """Hand rows over that may be published later."""
        self._ask(requests.SINK + "stage", Stage(id, rows, body), Done)

    def publish(self, query: str, epoch: int, ids: Sequence[str]) -> Published:
        """Have what was staged published, once for an epoch."""
        return self._ask(requests.SINK + "commit", Publish(query, epoch, list(ids)), Published, COMMIT_NS)

    def abort(self, ids: Sequence[str]) -> None:
        """Have what was staged forgotten."""
        self._ask(requests.SINK + "abort", Abort(list(ids)), Done)

    def record_files(self) -> list[RecordFile]:
        """The files of a tracing broker."""
        return self._ask(requests.RECORDS + "list", Done(), list[RecordFile])

    def records_written(self, writer: str, after: int, last: int) -> int:
        """How many files of a writer there were, with numbers after the first up to the second."""
        return self._ask(requests.RECORDS + "written", Written(writer, after, last), Count).files

    def record_file(self, name: str) -> bytes:
        """All bytes of one of them."""
        return self._file(requests.RECORDS, name)

    def beside(self) -> list[RecordFile]:
        """The manifests and facts beside them, by folder and name."""
        return self._ask(requests.BESIDE + "list", Done(), list[RecordFile])

    def file_beside(self, name: str) -> bytes:
        """All bytes of one of these."""
        return self._file(requests.BESIDE, name)

    def _file(self, topic: str, name: str) -> bytes:
        body = b""
        while True:
            part = self._ask(topic + "fetch", FetchFile(name, len(body)), Part)
            body += part.body
            if len(body) >= part.size:
                return body

    def _ask(self, topic: str, question: Any, kind: type[_Any], timeout_ns: int | None = None) -> _Any:
        payload = requests.encode(question)
        patience = f"{timeout_ns or self._timeout_ns}ns"
        try:
            reply = self._with_bus(lambda bus: bus.request(topic, payload, timeout=patience))
            return requests.decode(reply.payload, kind)
        except RequestFailed as error:
            raise _told(error) from None
        except TimedOut:
            # It may be half open: the next question has a new one.
            forget(self._url)
            raise

    def _with_bus(self, ask: Callable[[Bus], _Any]) -> _Any:
        """Ask, on a new connection if the one that was there has ended; every question can be asked twice."""
        try:
            return ask(bus_of(self._url))
        except Closed:
            forget(self._url)
        try:
            return ask(bus_of(self._url))
        except Closed:
            forget(self._url)
            raise


_INVALID = re.compile(r"(.+?) = (.*?): expected (.+)", re.DOTALL)


def _told(error: RequestFailed) -> GiustoError:
    """What the steward raised, in its own words."""
    match error.error, _INVALID.fullmatch(error.text):
        case "NotRetained", _:
            log, _, problem = error.text.partition(": ")
            return NotRetained(log, problem)
        case "Refused", _:
            # The sink alone can be refused something, and it offers no limit.
            return Refused("no_limit", error.text)
        case (("InvalidInput" | "TooLarge"), re.Match() as found):
            return InvalidInput(*found.groups())
    return error
