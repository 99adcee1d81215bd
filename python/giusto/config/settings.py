"""Every setting that there is: its name, what it may be, and what it does in one line.

The reference page, the environment variables and the checks all come from this table.
"""

from __future__ import annotations

from typing import NamedTuple

from giusto import _core
from giusto.config import kinds
from giusto.config.kinds import Read

COUNT_MAX = 2**31


class Setting(NamedTuple):
    """How a value is read, what it does, and what its name in the configuration ends with."""

    read: Read
    about: str
    suffix: str = ""


def _time(least: str, about: str) -> Setting:
    return Setting(kinds.time(least), about, "_ns")


BROKER = {
    "listen": Setting(kinds.addresses, "where clients connect; port 0 is any free port"),
    "input": Setting(
        kinds.choice(*(name for name, _ in _core.input_policies())), "policy of the input stage"
    ),
    "output": Setting(kinds.choice(*_core.output_policies()), "policy of the output stage"),
    "overflow": Setting(
        kinds.choice("drop_oldest", "drop_new", "disconnect"), "what a full queue of a subscriber does"
    ),
    "expiry": Setting(
        kinds.choice("none", "dead", "eps"),
        "what is dropped on the way out; unset: as the output policy does",
    ),
    "output_capacity": Setting(kinds.whole(1, COUNT_MAX), "messages that may wait for one subscriber"),
    "output_bytes": Setting(
        kinds.whole(1, 2**50), "bytes of frames that may wait for one subscriber; one may always wait"
    ),
    "message_capacity": Setting(kinds.whole(1, COUNT_MAX), "messages that may be stored altogether"),
    "fragment_bytes": Setting(kinds.whole(1, COUNT_MAX), "bytes of a message that one quantum serves"),
    "mode": Setting(kinds.choice("load", "time"), "serve whenever there is work, or once per period"),
    "period": _time("1us", 'with mode = "time": how often the broker serves'),
    "budget": _time("1us", 'with mode = "time": how long it serves in each period'),
    "penalty": _time("0ns", "how long a client that sends more than it may is not read"),
    "handshake": _time("1ms", "how long a connection may take to say who it is"),
    "connections_max": Setting(kinds.whole(1, 1_000_000), "connections at a time"),
    "drain": _time("0ns", "how long the broker goes on sending what waits when it is told to stop"),
}
REALTIME = {
    "priority": Setting(kinds.whole(0, 99), "SCHED_FIFO priority of the data thread; 0 leaves it as it is"),
    "cpus": Setting(kinds.cpus, 'processors for the data thread, such as [2] or "2-3"; none: all'),
    "lock_memory": Setting(kinds.flag, "keep all memory in RAM"),
    "busy_poll": Setting(kinds.flag, "never sleep while waiting: one processor is always busy"),
}
LIMITS = {
    "topics": Setting(kinds.whole(0, COUNT_MAX), "topics that one client may publish on at a time"),
    "subscriptions": Setting(kinds.whole(0, COUNT_MAX), "subscriptions that one client may have at a time"),
}
RECORDS = {
    "capacity": Setting(kinds.whole(0, COUNT_MAX), "records kept until they are drained; 0 keeps none"),
}
RETAIN = {
    "patterns": Setting(kinds.patterns, 'topics whose messages are kept on disk, such as ["ward/#"]'),
    "folder": Setting(kinds.path, "folder that keeps them; needed also where Spark writes to topics"),
    "max_bytes": Setting(kinds.whole(0, 2**50), "what one pattern may take on disk; 0: no limit"),
    "max_age": _time("0ns", "how long messages are kept; 0: no limit"),
    "until": Setting(kinds.choice("bounds", "read"), "read: they also go when every query has read them"),
    "sync": _time("0ns", "how often the disk is told to keep what was written; 0: before anybody reads it"),
}
TRACE = {
    "folder": Setting(kinds.path, "folder that the records of all messages are written to; none: no records"),
    "capacity": Setting(kinds.whole(1_024, 2**24), "records that wait in memory for the writer"),
    "every": _time("1ms", "how often they are taken from there; more often under load"),
    "sampling": Setting(kinds.whole(1, 2**30), "trace one message in so many; 1: all"),
    "file_rows": Setting(kinds.whole(1, COUNT_MAX), "a file ends with so many records"),
    "file_bytes": Setting(kinds.whole(1, 2**50), "a file ends with so many bytes"),
    "file_age": _time("10ms", "a file ends so long after its first record"),
    "max_bytes": Setting(kinds.whole(0, 2**60), "what the files may take; the oldest go first; 0: no limit"),
    "max_age": _time("0ns", "how long files are kept; 0: for ever"),
}
MTEP = {
    "weight": Setting(kinds.number(0, 1), "weight r of the expected earning against the postponing cost"),
    "epsilon": Setting(kinds.number(0, 0.99), "probability of success at which a message is given up"),
    "processing_delay": _time("0ns", "processing delay of each broker on the way"),
    "mean_transmission": _time("0ns", "mean time to send a message, which sets the postponing cost"),
}
MODELS = {
    "listen": Setting(kinds.flag, "take up what is published on `$giusto/model/…`"),
    "sources": Setting(kinds.names, 'clients whose models count, such as ["$pipeline"]; none: all'),
    "quantum": Setting(
        kinds.choice("raise", "report"),
        "what serving took: raise the costs that bounds rest on, or only report",
    ),
    "envelope": Setting(
        kinds.choice("apply", "report"),
        "how bursty flows are: let them be if every promise holds, or only report",
    ),
    "link": Setting(
        kinds.choice("apply", "report"),
        "how slow links are: reckon with it if every promise holds, or only report",
    ),
}
GUARANTEE = {
    "calibration": Setting(kinds.path, "file of `giusto calibrate`; none: costs meant to be too high"),
    "any_machine": Setting(kinds.flag, "take the calibration also if it is of another machine or build"),
    "store": Setting(kinds.path, "file that keeps contracts over a restart; none: they are not kept"),
    "tolerance": _time("1us", "by how much messages may come closer together than offered"),
    "reserve": _time("0ns", "how long a contract waits for a client that went without a goodbye"),
    "slice": _time("1us", "how long other traffic is served before guarded messages are looked for again"),
    "stall": Setting(
        kinds.choice("exclude", "include"), "whether bounds contain the measured stalls of the machine"
    ),
    "link_delay_in": _time("0ns", "delay of the network from a publisher to the broker"),
    "link_delay_out": _time("0ns", "delay of the network from the broker to a subscriber"),
    "link_bandwidth_in": Setting(
        kinds.bandwidth, 'bandwidth of the link from each publisher, such as "1Gbit/s"; 0: no limit', "_bps"
    ),
    "link_bandwidth_out": Setting(
        kinds.bandwidth, 'bandwidth of the link to each subscriber, such as "1Gbit/s"; 0: no limit', "_bps"
    ),
}
TOPIC = {
    "weight": Setting(kinds.whole(1, 65_535), "importance under twrr and smooth"),
    "rate": Setting(kinds.whole(1, 2**31), "importance under fair"),
    "virtual_deadline": Setting(kinds.whole(0, 2**62), "urgency under fair, in ticks of virtual time"),
    "period": _time("1ns", "period of a message under edf"),
    "deadline": _time("1ns", "deadline of a message under edf"),
}
# Everything but `topics`, whose keys are patterns.
SECTIONS: dict[str, dict[str, Setting]] = {
    "broker": BROKER,
    "realtime": REALTIME,
    "limits": LIMITS,
    "records": RECORDS,
    "retain": RETAIN,
    "trace": TRACE,
    "mtep": MTEP,
    "models": MODELS,
    "guarantee": GUARANTEE,
}
