"""For tests of programs that use giusto: a bus in memory with a virtual clock.

bus = MemoryBus()
publisher, subscription = bus.advertise("a"), bus.subscribe("a")
publisher.publish(b"x")
bus.clock.advance("5ms")
"""

from giusto.testing.memory import MemoryBus
from giusto.testing.world import Clock

__all__ = ["Clock", "MemoryBus"]
