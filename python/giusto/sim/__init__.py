"""Virtual time: the schedulers of the broker, driven by a clock that only counts."""

from giusto.sim.server import Completion, Run, Stream, Topic, serve

__all__ = ["Completion", "Run", "Stream", "Topic", "serve"]
