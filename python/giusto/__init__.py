"""Publish/subscribe in strict time: a subscription is a contract."""

__version__ = "0.1.0"
