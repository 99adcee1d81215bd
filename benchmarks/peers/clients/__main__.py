"""One end of a Python-to-Python run: `… clients publish|subscribe CLIENT TARGET SECONDS`."""

from __future__ import annotations

import importlib
import json
import sys

from benchmarks.peers.clients.meter import Meter


def main() -> None:
    """Be a publisher that says how many messages it sent, or a subscriber that says what arrived."""
    role, name, target, seconds = sys.argv[1:]
    module, _, variant = name.partition(":")
    client = importlib.import_module(f"benchmarks.peers.clients.{module}_client")
    variants = [variant] if variant else []
    if role == "publish":
        print(json.dumps({"sent": client.publish(target, float(seconds), *variants)}), flush=True)
    else:
        client.subscribe(target, Meter(), *variants)


if __name__ == "__main__":
    main()
