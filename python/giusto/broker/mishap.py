"""What becomes of a mistake of ours beside a request: it is logged, and everything else goes on."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

_log = logging.getLogger("giusto.broker")


@contextmanager
def survived(what: str) -> Iterator[None]:
    """Do the block as far as it goes. What it leaves undone must be safe to leave undone."""
    try:
        yield
    except Exception:
        _log.exception("%s failed: the broker goes on without it", what)
