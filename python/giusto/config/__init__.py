"""What a broker is told before it starts: from a TOML file, the environment and flags, in this order.

    load("giusto.toml", flags={"broker.input": "fair"})

Whatever comes later wins. Everything is checked before anything starts: an error names the key, the variable
or the flag, and says what would be accepted.
"""

from giusto.config.broker import BrokerConfig, Guarantee, Limits, Models, Mtep, Realtime, Records, Retain
from giusto.config.load import load
from giusto.config.settings import SECTIONS
from giusto.trace.options import Options as Trace

__all__ = [
    "SECTIONS",
    "BrokerConfig",
    "Guarantee",
    "Limits",
    "Models",
    "Mtep",
    "Realtime",
    "Records",
    "Retain",
    "Trace",
    "load",
]
