"""Publish/subscribe in strict time: a subscription is a contract."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from giusto import aio as aio
    from giusto import errors as errors
    from giusto import sim as sim
    from giusto import testing as testing
    from giusto._core import Filter as Filter
    from giusto._core import Float as Float
    from giusto._core import Message as Message
    from giusto.client import Bus as Bus
    from giusto.client import Drop as Drop
    from giusto.client import Lost as Lost
    from giusto.client import Matchedness as Matchedness
    from giusto.client import Miss as Miss
    from giusto.client import Publisher as Publisher
    from giusto.client import Report as Report
    from giusto.client import Restored as Restored
    from giusto.client import Subscription as Subscription
    from giusto.client import Violation as Violation
    from giusto.client import connect as connect
    from giusto.contract import Explanation as Explanation
    from giusto.contract import Granted as Granted
    from giusto.contract import Need as Need
    from giusto.contract import Offer as Offer
    from giusto.contract import Unproved as Unproved
    from giusto.errors import Closed as Closed
    from giusto.errors import Duplicate as Duplicate
    from giusto.errors import FilterSyntax as FilterSyntax
    from giusto.errors import GiustoError as GiustoError
    from giusto.errors import InvalidInput as InvalidInput
    from giusto.errors import Nearest as Nearest
    from giusto.errors import QueueFull as QueueFull
    from giusto.errors import Refused as Refused
    from giusto.errors import RequestFailed as RequestFailed
    from giusto.errors import TimedOut as TimedOut
    from giusto.errors import TooLarge as TooLarge
    from giusto.errors import Unknown as Unknown
    from giusto.errors import Unreachable as Unreachable
    from giusto.planning import Plan as Plan
    from giusto.planning import plan as plan

__version__ = "0.1.0"

# Loaded when first used: importing giusto alone must stay quick.
_HOMES = {
    "giusto._core": ("Filter", "Float", "Message"),
    "giusto.client": (
        "Bus",
        "Drop",
        "Lost",
        "Matchedness",
        "Miss",
        "Publisher",
        "Report",
        "Restored",
        "Subscription",
        "Violation",
        "connect",
    ),
    "giusto.contract": ("Explanation", "Granted", "Need", "Offer", "Unproved"),
    "giusto.errors": (
        "Closed",
        "Duplicate",
        "FilterSyntax",
        "GiustoError",
        "InvalidInput",
        "Nearest",
        "QueueFull",
        "Refused",
        "RequestFailed",
        "TimedOut",
        "TooLarge",
        "Unknown",
        "Unreachable",
    ),
    "giusto.planning": ("Plan", "plan"),
}
_MODULES = ("aio", "errors", "sim", "testing")
_HOME = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        value: Any = import_module(f"giusto.{name}")
    elif name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
    else:
        raise AttributeError(f"module 'giusto' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME, *_MODULES})
