"""Futures of those who wait for something on a bus."""

from __future__ import annotations

import asyncio


def wake(waiters: list[asyncio.Future[None]]) -> None:
    """Let everybody look again."""
    for waiter in waiters:
        if not waiter.done():
            waiter.set_result(None)
    waiters.clear()
