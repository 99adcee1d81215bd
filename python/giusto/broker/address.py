"""How clients reach what a broker listens on."""

from __future__ import annotations

WILDCARDS = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}


def client_address(bound: str) -> str:
    """The URL for `giusto.connect`: `tcp://127.0.0.1:7447` is reached as `giusto://127.0.0.1:7447`."""
    scheme, _, rest = bound.partition("://")
    if scheme == "unix":
        return f"giusto+unix://{rest}"
    host, _, port = rest.rpartition(":")
    return f"{'giusto+udp' if scheme == 'udp' else 'giusto'}://{WILDCARDS.get(host, host)}:{port}"
