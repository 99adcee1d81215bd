"""Which experiments have a short name."""

from __future__ import annotations

REGISTERED = {
    "waiting": "giusto.pipeline.waiting:waiting",
}
