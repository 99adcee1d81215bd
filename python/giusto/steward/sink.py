"""Publishes what Spark committed: every epoch of a query once, also if it is committed again."""

from __future__ import annotations

import logging
from collections import OrderedDict

from giusto import _core
from giusto.client import Bus, Publisher
from giusto.errors import NotRetained, Refused
from giusto.retain import requests
from giusto.retain.journal import Epoch
from giusto.retain.requests import Abort, Done, Publish, Published, Stage
from giusto.retain.staging import Staging
from giusto.steward.desk import answering

PUBLISHERS_MAX = 256
PATIENCE = "30s"

_log = logging.getLogger("giusto.steward")


class Intake:
    """Takes rows in, on a connection of its own: also while others are being published."""

    def __init__(self, staging: Staging) -> None:
        self.name = "intake"
        self.remarks: list[str] = []
        self._staging = staging

    def begin(self, bus: Bus) -> None:
        """Serve."""
        bus.serve(requests.SINK + "stage", answering(Stage, self.stage))
        bus.serve(requests.SINK + "abort", answering(Abort, self.abort))

    def tend(self) -> None:
        """Forget what nobody will commit any more."""
        self._staging.expire()

    def end(self) -> None:
        """Nothing is left to do."""

    def stage(self, asked: Stage) -> Done:
        """Keep rows until they are committed."""
        self._staging.stage(asked.id, asked.body)
        return Done()

    def abort(self, asked: Abort) -> Done:
        """Forget staged rows."""
        self._staging.drop(asked.ids)
        return Done()


class Sink:
    """Publishes rows when they are committed, one epoch after the other."""

    def __init__(self, staging: Staging) -> None:
        self.name = "sink"
        self.remarks: list[str] = []
        self._staging = staging
        self._publishers: OrderedDict[str, Publisher] = OrderedDict()
        self._bus: Bus | None = None

    def begin(self, bus: Bus) -> None:
        """Publish what a crash interrupted, and serve."""
        self._bus = bus
        for epoch in self._staging.unfinished():
            self._resume(epoch)
        bus.serve(requests.SINK + "commit", answering(Publish, self.commit))

    def tend(self) -> None:
        """Nothing is to be done in between."""

    def end(self) -> None:
        """Nothing is left to do: what was committed has gone out, or is journalled."""

    def commit(self, asked: Publish) -> Published:
        """Publish an epoch, unless it went out before."""
        epoch = self._staging.begin(asked.query, asked.epoch, asked.ids)
        return Published(0, again=True) if epoch is None else Published(self._publish(epoch), again=False)

    def _resume(self, epoch: Epoch) -> None:
        try:
            _log.warning("%s was interrupted; %d more rows go out", epoch, self._publish(epoch))
        except Exception as error:
            # Whatever somebody staged, the broker starts.
            _log.error("%s was interrupted and cannot be published: %s", epoch, error)

    def _publish(self, epoch: Epoch) -> int:
        """Publish the rest of an epoch; nothing of it unless all of its topics take it."""
        before = epoch.published
        try:
            for topic in self._staging.topics(epoch):
                self._require_taken(topic)
            epoch = self._sent(self._staging.journal(epoch))
        except NotRetained:
            self._staging.put_aside(epoch)
            raise
        self._staging.finish(epoch)
        return epoch.published - before

    def _require_taken(self, topic: str) -> None:
        """Raise `Refused` in words for whoever writes with Spark: it cannot offer anything."""
        try:
            self._publisher(topic)
        except Refused as error:
            if error.why != "no_limit":
                raise
            reason = f"{topic} is under contract, and the sink offers no limit; write to a topic without one"
            raise Refused(error.why, reason) from None

    def _sent(self, epoch: Epoch) -> Epoch:
        """Publish what is left of an epoch; a part is noted when the broker has got the next one.

        What is noted does not go out again, and a broker that is killed has not served all that it got.
        """
        sent = noted = 0
        try:
            for rows in self._staging.rows(epoch):
                before = sent
                for row in rows.to_pylist():
                    self._send(row["topic"], row["payload"], row["priority"], row["attributes"])
                    sent += 1
                self._arrive()
                epoch, noted = self._noted(epoch, before - noted), before
        finally:
            epoch = self._noted(epoch, sent - noted)
        return epoch

    def _arrive(self) -> None:
        """Wait until the broker has got all rows: it answers after what it was sent before."""
        assert self._bus is not None
        self._bus.flush(PATIENCE)
        self._bus.publishers(requests.SINK + "commit")

    def _noted(self, epoch: Epoch, rows: int) -> Epoch:
        return self._staging.went_out(epoch, rows) if rows else epoch

    def _send(self, topic: str, payload: bytes, priority: int, attributes: bytes) -> None:
        named = _core.decode_attributes(attributes) if attributes else None
        self._publisher(topic).publish(payload, priority=priority, attributes=named, timeout=PATIENCE)

    def _publisher(self, topic: str) -> Publisher:
        assert self._bus is not None
        if topic not in self._publishers:
            self._publishers[topic] = self._bus.advertise(topic)
        self._publishers.move_to_end(topic)
        if len(self._publishers) > PUBLISHERS_MAX:
            self._publishers.popitem(last=False)[1].unadvertise()
        return self._publishers[topic]
