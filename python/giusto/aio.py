"""The asyncio face, where programs look for it: `giusto.client.aio` by a shorter name."""

from giusto.client.aio import Bus, Connecting, Events, Publisher, Subscription, connect

__all__ = ["Bus", "Connecting", "Events", "Publisher", "Subscription", "connect"]
