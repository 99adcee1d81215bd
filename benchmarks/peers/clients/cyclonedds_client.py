"""Cyclone DDS, peer to peer over loopback UDP, reliable. The target's port number chooses the domain."""

import os
import time
from dataclasses import dataclass

from benchmarks.peers.clients.meter import Meter
from benchmarks.peers.clients.pace import PAYLOAD, TOPIC, batches

os.environ["CYCLONEDDS_URI"] = (
    "<General><Interfaces><NetworkInterface name='lo' multicast='false'/></Interfaces></General>"
    "<Discovery><ParticipantIndex>auto</ParticipantIndex>"
    "<Peers><Peer address='127.0.0.1'/></Peers></Discovery>"
)

from cyclonedds.core import Policy, Qos, ReadCondition, WaitSet
from cyclonedds.domain import DomainParticipant
from cyclonedds.idl import IdlStruct, types
from cyclonedds.pub import DataWriter
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic
from cyclonedds.util import duration

# Domains above this would ask for ports that do not exist.
DOMAINS = 200
QOS = Qos(Policy.Reliability.Reliable(duration(seconds=10)), Policy.History.KeepAll)


# Annotations are evaluated here, unlike elsewhere: the package reads them when the class is made.
@dataclass
class Message(IdlStruct, typename="Message"):  # type: ignore[misc,call-arg]
    payload: types.sequence[types.uint8]


def join(target: str) -> tuple[DomainParticipant, Topic]:
    domain = int(target.rpartition(":")[2]) % DOMAINS
    participant = DomainParticipant(domain)
    return participant, Topic(participant, TOPIC, Message, qos=QOS)


def publish(target: str, seconds: float) -> int:
    sent = 0
    participant, topic = join(target)
    writer = DataWriter(participant, topic, qos=QOS)
    while not writer.get_matched_subscriptions():
        time.sleep(0.01)
    message = Message(PAYLOAD)
    for batch in batches(seconds):
        for _ in batch:
            writer.write(message)
        sent += len(batch)
    writer.wait_for_acks(duration(seconds=10))
    return sent


def subscribe(target: str, meter: Meter) -> None:
    participant, topic = join(target)
    reader = DataReader(participant, topic, qos=QOS)
    condition = ReadCondition(reader, 0)
    waiting = WaitSet(participant)
    waiting.attach(condition)
    meter.ready()
    while True:
        waiting.wait(duration(seconds=1))
        meter.count += len(reader.take(N=1000))
