"""Virtual time: the schedulers of the broker, driven by a clock that only counts."""

from giusto.sim.server import Completion, Refused, Run, Stream, Topic, serve

__all__ = ["Completion", "Refused", "Run", "Stream", "Topic", "serve"]
