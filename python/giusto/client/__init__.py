"""Clients of a broker: publishers, subscriptions, requests, events and reports.

`connect` gives a bus whose calls block; `giusto.client.aio.connect` one for asyncio, with the same names.
"""

from giusto.client import aio
from giusto.client.bus import Bus, Events, Publisher, Subscription, connect
from giusto.client.events import Drop, Event, Lost, Matchedness, Miss, Restored, Violation
from giusto.client.report import Report, TopicReport

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
    "aio",
    "connect",
]
