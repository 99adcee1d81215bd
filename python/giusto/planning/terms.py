"""Which keys a scenario has, and what each may be."""

from __future__ import annotations

import re
from fractions import Fraction

from giusto.config import kinds
from giusto.config.settings import BROKER, Setting
from giusto.errors import InvalidInput
from giusto.planning.scenario import ANY, POLICIES

BITS_MAX = 10**13
_UNITS = {"bit/s": 1, "kbit/s": 10**3, "Mbit/s": 10**6, "Gbit/s": 10**9}
_BANDWIDTH = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,9})?)\s*([kMG]?bit/s)")


def bandwidth(value: object, path: str) -> int:
    """Bits per second, such as "1Gbit/s"; 0 is no limit."""
    expected = 'a bandwidth such as "100Mbit/s" or "1Gbit/s"; 0 for no limit'
    if isinstance(value, int) and not isinstance(value, bool) and value == 0:
        return 0
    found = _BANDWIDTH.fullmatch(value.strip()) if isinstance(value, str) else None
    bits = Fraction(found[1]) * _UNITS[found[2]] if found else Fraction(0)
    if bits.denominator != 1 or not 0 < bits <= BITS_MAX:
        raise InvalidInput(path, value, expected)
    return int(bits)


def text(value: object, path: str) -> str:
    """A text with something in it."""
    if not isinstance(value, str) or not value:
        raise InvalidInput(path, value, "a text")
    return value


BROKER_KEYS = {
    "input": Setting(kinds.choice(*POLICIES, ANY), "policy of the input stage, or any"),
    **{key: BROKER[key] for key in ("mode", "period", "budget", "fragment_bytes")},
}
GUARANTEE_KEYS = {
    "calibration": Setting(text, "file that `giusto calibrate` wrote"),
    "tolerance": Setting(kinds.time("0ns"), "what the broker adds to the jitter of every offer", "_ns"),
    "slice": Setting(kinds.time("1us"), "how long best effort is served at a time", "_ns"),
    "stall": Setting(kinds.choice("exclude", "include"), "whether bounds contain the machine's stalls"),
    "link_delay_in": Setting(kinds.time("0ns"), "delay between a publisher and the broker", "_ns"),
    "link_delay_out": Setting(kinds.time("0ns"), "delay between the broker and a subscriber", "_ns"),
    "link_bandwidth_in": Setting(bandwidth, "bandwidth between a publisher and the broker"),
    "link_bandwidth_out": Setting(bandwidth, "bandwidth between the broker and a subscriber"),
}
REST_KEYS = {
    "fanout": Setting(kinds.whole(0, 1_000_000), "most subscribers of a best-effort topic"),
    "max_size": Setting(kinds.whole(0, 2**24), "largest best-effort message"),
}
OFFER_KEYS = ("min_sep", "rate", "burst", "max_sep", "max_size", "timeout", "jitter", "queue")
NEED_KEYS = ("max_latency", "max_sep", "rate", "deadline", "price", "penalty")
