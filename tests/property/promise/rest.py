"""The traffic without a contract: what a slice of the rest does, action by action."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from scene import READ_BYTES, WRITE_BYTES, Scene
from stage import Stage

if TYPE_CHECKING:
    from data_thread import DataThread

SMALLEST_FRAME_BYTES = 57
QUEUED_MAX = 8


class Rest:
    """Clients that flood one topic, its subscribers, clients on probation, and calls of the control plane."""

    def __init__(self, scene: Scene, stage: Stage, thread: DataThread) -> None:
        self.scene, self.engine, self.stage, self.thread = scene, stage.engine, stage, thread
        self.costs = scene.setting.costs
        self.calls = 0
        self._queued = 0
        flood = scene.flood
        frames = -(-READ_BYTES // SMALLEST_FRAME_BYTES)
        small_ns = self.costs.take.fixed_ns + frames * self.costs.frame_ns
        self._read_ns = max(small_ns, self.costs.take_ns(min(flood.size_bytes, READ_BYTES)))
        self._step_ns = self.costs.step.fixed_ns + flood.subscribers * self.costs.deliver.fixed_ns
        self._write_ns = self.costs.write.ns(WRITE_BYTES + flood.size_bytes)
        self._flows = self._connect() if scene.flood.publishers else []

    def _connect(self) -> list[int]:
        topic = self.engine.declare("flood")
        flood = self.scene.flood
        # Some of them are subscribers of guarded topics too: their queue holds both.
        shared = [self.stage.clients[name] for name in self.stage.readers[: flood.subscribers // 2]]
        own = [self.engine.connect(f"flooded {n}") for n in range(flood.subscribers - len(shared))]
        self._subscribers = [*shared, *own]
        for client in self._subscribers:
            self.engine.subscribe(client, "flood")
        clients = [self.engine.connect(f"flooder {n}") for n in range(flood.publishers)]
        return [self.engine.advertise(client, topic) for client in clients]

    def serve_slice(self) -> bool:
        """Actions until the slice or the budget is over; whether there was one."""
        end_ns = min(self.thread.now + self.scene.setting.slice_ns, self.thread.end_ns)
        worked = False
        while self.thread.now < end_ns:
            action = self._next(end_ns - self.thread.now)
            if action is None:
                break
            if not worked:
                self.thread.tell("slice")
            action()
            worked = True
        return worked

    def _next(self, left_ns: int) -> Callable[[], None] | None:
        """Whatever chance says; but short ones near the end of a slice, and the longest to overrun it."""
        actions = self._possible()
        if not actions:
            return None
        if left_ns > self._read_ns or self.thread.rng.random() < 0.2:
            return self.thread.rng.choice(list(actions))
        return (min if left_ns > self._step_ns else max)(actions, key=lambda action: actions[action])

    def _possible(self) -> dict[Callable[[], None], int]:
        """What could be done now, and how long it would take."""
        actions: dict[Callable[[], None], int] = {
            partial(self.thread.read, client): self._read_ns
            for client in self.thread.sockets.ready(self.thread.now)
            if client in self.thread.probation
        }
        if self.calls:
            actions[self._call] = self.costs.call_ns
        if self._flows:
            actions |= {self._read: self._read_ns, self._flush: self._write_ns}
        if self._queued:
            actions[self._step] = self._step_ns
        return actions

    def _call(self) -> None:
        self.calls -= 1
        self.thread.tell("call")
        self.thread.spend(self.costs.call_ns)

    def _read(self) -> None:
        """A socket full of the smallest frames, or a piece of the largest; few of them are really queued."""
        if self._queued < QUEUED_MAX:
            flow = self.thread.rng.choice(self._flows)
            self.engine.publish(self.thread.now, flow, bytes(self.scene.flood.size_bytes))
            self._queued += 1
        self.thread.spend(self._read_ns)

    def _step(self) -> None:
        """A quantum; it is a guarded one if a client on probation has just been read."""
        if self.stage.waiting:
            clients = self.stage.step_guarded(self.thread.now) or 0
        else:
            done = self.engine.step(self.thread.now)
            assert done is not None, "the rest waits and is not served"
            kind, clients = done
            self._queued -= kind == "forwarded"
        self.thread.spend(self.costs.step.fixed_ns + clients * self.costs.deliver.fixed_ns)

    def _flush(self) -> None:
        """One write of what waits for one client, at most 64 KiB and a message."""
        if self.stage.made:
            self.thread.flush()
            return
        client = self.thread.rng.choice(self._subscribers)
        written_bytes = self.stage.set_aside.pop(client, 0)
        while written_bytes < WRITE_BYTES:
            if self.engine.take(self.thread.now, client) is None:
                break
            written_bytes += self.scene.flood.size_bytes
        self.thread.spend(self._write_ns)
