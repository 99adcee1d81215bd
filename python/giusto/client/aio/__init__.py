"""The asyncio face: names and arguments of the blocking one, with `await`, `async with` and `async for`."""

from giusto.client.aio.bus import Bus, Connecting, connect
from giusto.client.aio.publisher import Publisher
from giusto.client.aio.stream import Events
from giusto.client.aio.subscription import Subscription

__all__ = ["Bus", "Connecting", "Events", "Publisher", "Subscription", "connect"]
