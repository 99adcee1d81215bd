"""What the addresses of a broker and its clients mean: how it is reached, and by which port and host."""

from __future__ import annotations

WILDCARDS = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}


def client_address(bound: str) -> str:
    """The URL for `giusto.connect`: `tcp://127.0.0.1:7447` is reached as `giusto://127.0.0.1:7447`."""
    scheme, _, rest = bound.partition("://")
    if scheme == "unix":
        return f"giusto+unix://{rest}"
    host, _, port = rest.rpartition(":")
    return f"{'giusto+udp' if scheme == 'udp' else 'giusto'}://{WILDCARDS.get(host, host)}:{port}"


def main_address(addresses: list[str]) -> str:
    """The first address that takes connections: a UDP port carries data, but no requests."""
    return next((address for address in addresses if not address.startswith("udp://")), addresses[0])


def is_open(bound: str) -> bool:
    """Whether it is on all addresses of the machine, not on one of them."""
    return bound.partition("://")[2].rpartition(":")[0] in WILDCARDS


def udp_port(addresses: list[str]) -> int | None:
    """The port of the first UDP address, if there is one."""
    found = (address.rpartition(":")[2] for address in addresses if address.startswith("udp://"))
    return next((int(port) for port in found), None)


def host_of(address: str) -> str:
    """The host of `tcp://127.0.0.1:7447` or `[::1]:7447`."""
    return address.rpartition("//")[2].rpartition(":")[0].strip("[]")
