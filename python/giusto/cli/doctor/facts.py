"""What this machine is like: reads it, and judges nothing. Whatever cannot be read is `None`."""

from __future__ import annotations

import errno
import itertools
import os
import re
import resource
import socket
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from giusto.errors import InvalidInput, NotInstalled

CLOCK = Path("/sys/devices/system/clocksource/clocksource0")
CPUS = Path("/sys/devices/system/cpu")
CAP_IPC_LOCK = 14
NAPS = 200
NAP_NS = 500_000


@dataclass(frozen=True, slots=True)
class Facts:
    """A machine, as far as strict time depends on it. `limits` are (soft, hard), -1 for none."""

    python: tuple[int, int, int]
    profile: str | None
    stale: str | None
    clock_source: str | None
    clock_sources: tuple[str, ...]
    clock_step_ns: int
    naps_late_ns: tuple[int, ...]
    fifo: str | None
    may_lock: bool
    limits: dict[str, tuple[int, int]]
    cpus: int
    isolated: str | None
    governors: frozenset[str]
    cpu_quota: float | None
    realtime_share: float | None
    receive_buffer_bytes: int | None
    ports: dict[str, str]
    spark: str | None = None


def collect(ports: list[str]) -> Facts:
    """Look at everything; takes about a fifth of a second, for the naps."""
    profile, stale = extension()
    return Facts(
        python=sys.version_info[:3],
        profile=profile,
        stale=stale,
        clock_source=text(CLOCK / "current_clocksource"),
        clock_sources=tuple((text(CLOCK / "available_clocksource") or "").split()),
        clock_step_ns=clock_step_ns(),
        naps_late_ns=tuple(sorted(nap_late_ns() for _ in range(NAPS))),
        fifo=try_fifo(),
        may_lock=is_capable(text(Path("/proc/self/status")), CAP_IPC_LOCK),
        limits={name: resource.getrlimit(number) for name, number in LIMITS.items()},
        cpus=len(os.sched_getaffinity(0)),
        isolated=text(CPUS / "isolated"),
        governors=governors(CPUS),
        cpu_quota=cpu_quota(text(Path("/sys/fs/cgroup/cpu.max"))),
        realtime_share=realtime_share(),
        receive_buffer_bytes=whole(text(Path("/proc/sys/net/core/rmem_max"))),
        ports={port: port_state(port) for port in ports},
        spark=missing_for_spark(),
    )


def missing_for_spark() -> str | None:
    """What the pipeline lacks, with what to do about it, if it lacks something."""
    from giusto.pipeline.prerequisites import require_spark

    try:
        require_spark()
    except NotInstalled as error:
        return str(error)
    return None


LIMITS = {
    "nofile": resource.RLIMIT_NOFILE,
    "memlock": resource.RLIMIT_MEMLOCK,
    "rtprio": resource.RLIMIT_RTPRIO,
}


def text(path: Path) -> str | None:
    """A small file of the kernel, without its line end."""
    try:
        return path.read_text().strip()
    except OSError:
        return None


def whole(value: str | None) -> int | None:
    """A whole number, if it is one."""
    return int(value) if value is not None and value.lstrip("-").isdecimal() else None


def extension() -> tuple[str | None, str | None]:
    """The profile of the native core, and why it cannot be relied on, if so."""
    try:
        from giusto import _build, _core
    except ImportError as error:
        return None, f"it cannot be loaded: {error}"
    root = Path(_build.__file__).parents[2]
    if not (root / "crates").is_dir():  # installed, not a checkout
        return _core.PROFILE, None
    fresh = _core.SOURCE_DIGEST == _build.source_digest(root)
    return _core.PROFILE, None if fresh else "it was not built from the sources in this tree"


def clock_step_ns() -> int:
    """The smallest step of the clock that was seen in some thousand readings."""
    readings = [time.monotonic_ns() for _ in range(5000)]
    steps = [after - before for before, after in itertools.pairwise(readings) if after > before]
    return min(steps, default=0)


def nap_late_ns() -> int:
    """How much later than asked a short sleep ended."""
    start = time.monotonic_ns()
    time.sleep(NAP_NS / 1e9)
    return time.monotonic_ns() - start - NAP_NS


def try_fifo() -> str | None:
    """Why a thread here may not run under SCHED_FIFO; `None` if it may."""
    refusals: list[str] = []

    def attempt() -> None:
        try:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        except OSError as error:
            refusals.append(error.strerror or str(error))

    # In a thread of its own, which takes the priority with it when it ends.
    thread = threading.Thread(target=attempt)
    thread.start()
    thread.join()
    return refusals[0] if refusals else None


def is_capable(status: str | None, capability: int) -> bool:
    """Whether a process has a capability of Linux, from its `status`."""
    found = re.search(r"^CapEff:\s*([0-9a-f]+)$", status or "", re.MULTILINE)
    return found is not None and bool(int(found[1], 16) >> capability & 1)


def governors(cpus: Path) -> frozenset[str]:
    """How the frequency of the processors is chosen; empty where that is not for us to see."""
    found = (text(path) for path in cpus.glob("cpu[0-9]*/cpufreq/scaling_governor"))
    return frozenset(name for name in found if name)


def cpu_quota(line: str | None) -> float | None:
    """Processors that the control group may use, from its `cpu.max`; `None` if it may use all."""
    quota, _, period = (line or "max").partition(" ")
    return None if quota == "max" else int(quota) / int(period or 100_000)


def realtime_share() -> float | None:
    """The part of a processor that real-time threads may take; `None` if it is not limited."""
    runtime = whole(text(Path("/proc/sys/kernel/sched_rt_runtime_us")))
    period = whole(text(Path("/proc/sys/kernel/sched_rt_period_us")))
    return None if runtime is None or runtime < 0 or not period else runtime / period


def port_state(address: str) -> str:
    """`free`, `broker` (one answers there), `taken` (something else does) or why it cannot be used."""
    host, _, text = address.rpartition(":")
    port = whole(text)
    if not host or port is None or not 0 < port < 65_536:
        raise InvalidInput("--port", address, "host:port, with a port from 1 to 65535")
    host = host.strip("[]")
    try:
        with socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET):
            return "free"
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            return taken_by(host, port)
        if error.errno == errno.EADDRNOTAVAIL:
            return "not an address of this machine"
        return error.strerror or str(error)


def taken_by(host: str, port: int) -> str:
    """Who has a port of this machine: `broker` or `taken`."""
    try:
        with socket.create_connection((host, port), timeout=0.5) as stranger:
            return "broker" if is_broker(stranger) else "taken"
    except OSError:
        return "taken"


def is_broker(stranger: socket.socket) -> bool:
    """Whether the other side says hello as a broker does; both sides send theirs first."""
    from giusto import _core

    hello = _core.encode_hello()
    try:
        stranger.sendall(hello)
        return stranger.recv(len(hello))[8:12] == hello[8:12]
    except OSError:
        return False
