"""Virtual time: the schedulers of the broker, driven by a clock that only counts.

`serve` is one processor and the topics that share it; `run` is a whole network of brokers, a `Scenario`.
"""

from giusto.sim.chance import Chance
from giusto.sim.delay import Bandwidth, Constant, Delay, Normal
from giusto.sim.fault import BrokerDown, Fault, LinkDown, Loss, Spike
from giusto.sim.medium import Can, Ethernet, Medium, Switched
from giusto.sim.network import Attribute, Broker, Link, Processor, Publisher, Subscriber
from giusto.sim.overlay import Overlay, chain, layered, star, tree
from giusto.sim.policy import InputPolicy, OutputPolicy
from giusto.sim.result import BrokerFigures, LinkFigures, MediumFigures, Run, SubscriberFigures
from giusto.sim.running import run
from giusto.sim.scenario import Scenario
from giusto.sim.server import Completion, Refused, Served, Stream, serve
from giusto.sim.topic import Topic
from giusto.sim.topics import TopicFigures
from giusto.sim.workload import Greedy, Periodic, Poisson, Trace, Uniform, Workload

__all__ = [
    "Attribute",
    "Bandwidth",
    "Broker",
    "BrokerDown",
    "BrokerFigures",
    "Can",
    "Chance",
    "Completion",
    "Constant",
    "Delay",
    "Ethernet",
    "Fault",
    "Greedy",
    "InputPolicy",
    "Link",
    "LinkDown",
    "LinkFigures",
    "Loss",
    "Medium",
    "MediumFigures",
    "Normal",
    "OutputPolicy",
    "Overlay",
    "Periodic",
    "Poisson",
    "Processor",
    "Publisher",
    "Refused",
    "Run",
    "Scenario",
    "Served",
    "Spike",
    "Stream",
    "Subscriber",
    "SubscriberFigures",
    "Switched",
    "Topic",
    "TopicFigures",
    "Trace",
    "Uniform",
    "Workload",
    "chain",
    "layered",
    "run",
    "serve",
    "star",
    "tree",
]
