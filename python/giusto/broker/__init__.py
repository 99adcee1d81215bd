"""The control plane of a live broker: who is there, who may publish, who hears what. Data never comes here.

with Broker(BrokerConfig(listen=("tcp://127.0.0.1:0",))) as broker:
    print(broker.address)      # giusto://127.0.0.1:41235
    broker.run()               # until SIGTERM, SIGINT or broker.stop()
"""

from giusto.broker.control import Control
from giusto.broker.plane import Plane
from giusto.broker.server import Broker, serve

__all__ = ["Broker", "Control", "Plane", "serve"]
