"""Who waits for something on a bus, and that everybody looks again when it may be there."""

from __future__ import annotations

import asyncio


class Waiters:
    """Tasks that wait. Who gives up, by a timeout or because it is cancelled, is forgotten."""

    def __init__(self) -> None:
        self._futures: dict[asyncio.Future[None], None] = {}

    def __len__(self) -> int:
        return len(self._futures)

    async def wait(self) -> None:
        """Wait for the next `wake`."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._futures[future] = None
        try:
            await future
        finally:
            self._futures.pop(future, None)

    def wake(self) -> None:
        """Let everybody look again."""
        if not self._futures:
            return
        woken, self._futures = self._futures, {}
        for future in woken:
            if not future.done():
                future.set_result(None)
