"""Values instead of bytes, and a test of them without a broker.

`python examples/typed.py` needs a broker (`giusto broker`); `pytest examples/typed.py` needs none.
"""

from dataclasses import dataclass

import giusto
from giusto.testing import MemoryBus


@dataclass
class Pulse:
    bed: int
    rate: float


def worst(bus: giusto.Bus, rates: list[float]) -> Pulse:
    """Publish a pulse for each bed, and find the highest among those that arrive."""
    with bus.subscribe("pulse", type=Pulse) as pulses, bus.advertise("pulse", type=Pulse) as publisher:
        for bed, rate in enumerate(rates):
            publisher.publish(Pulse(bed, rate))
        return max((pulses.receive(timeout="5s").value for _ in rates), key=lambda pulse: pulse.rate)


def test_the_highest_pulse_is_found() -> None:
    """Virtual time: nothing waits, and the same program gives the same times again."""
    bus = MemoryBus(delay="2ms")
    assert worst(bus, [61.5, 140.0, 74.0]) == Pulse(1, 140.0)


if __name__ == "__main__":
    with giusto.connect() as connected:
        print(worst(connected, [61.5, 140.0, 74.0]))
