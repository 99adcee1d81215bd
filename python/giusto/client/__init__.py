"""Clients of a broker: publishers, subscriptions, requests, events and reports.

`connect` gives a bus whose calls block; `giusto.client.aio.connect` one for asyncio, with the same names.
"""

from giusto.client.bus import Bus, connect
from giusto.client.events import Drop, Event, Lost, Matchedness, Miss, Restored, Violation
from giusto.client.publisher import Publisher
from giusto.client.report import Report, TopicReport
from giusto.client.stream import Events
from giusto.client.subscription import Subscription

__all__ = [
    "Bus",
    "Drop",
    "Event",
    "Events",
    "Lost",
    "Matchedness",
    "Miss",
    "Publisher",
    "Report",
    "Restored",
    "Subscription",
    "TopicReport",
    "Violation",
    "connect",
]
