"""Whether a machine suits strict time: facts in, findings with what to do about them out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from giusto.cli.doctor.facts import Facts
from giusto.contract import show_ns

OLDEST_PYTHON = (3, 11)
QUICK_CLOCKS = frozenset({"tsc", "arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc_page"})
CONNECTIONS = 16_384
LOCKED_BYTES = 512 << 20
LATE_NAP_NS = 1_000_000
LATEST_NAP_NS = 5_000_000
DATAGRAM_BUFFER_BYTES = 4 << 20
UNLIMITED = -1


class Level(StrEnum):
    """How much a finding matters."""

    OK = "ok"
    NOTE = "note"  # better could be had
    WARN = "warn"  # delays will show it
    FAIL = "fail"  # giusto does not work so


@dataclass(frozen=True, slots=True)
class Finding:
    """What was looked at, what it is like, and what to do if it should be better."""

    what: str
    level: Level
    found: str
    advice: str = ""


def examine(facts: Facts) -> list[Finding]:
    """All findings, in the order of the checks."""
    return [finding for check in CHECKS for finding in check(facts)]


def is_usable(findings: list[Finding]) -> bool:
    """Whether giusto works here at all."""
    return all(finding.level is not Level.FAIL for finding in findings)


def python(facts: Facts) -> Iterator[Finding]:
    """New enough."""
    version = ".".join(map(str, facts.python))
    if facts.python >= OLDEST_PYTHON:
        yield Finding("Python", Level.OK, version)
    else:
        yield Finding("Python", Level.FAIL, version, "use Python 3.11 or newer")


def native_core(facts: Facts) -> Iterator[Finding]:
    """A release build of these sources."""
    if facts.profile is None:
        yield Finding(
            "native core", Level.FAIL, facts.stale or "missing", "run `make build`, or install giusto again"
        )
    elif facts.stale is not None:
        yield Finding("native core", Level.WARN, facts.stale, "run `make build`")
    elif facts.profile != "release":
        found = f"{facts.profile} build, many times slower"
        yield Finding("native core", Level.WARN, found, "run `make build`, which makes a release build")
    else:
        yield Finding("native core", Level.OK, "release build")


def clock(facts: Facts) -> Iterator[Finding]:
    """A clock that is read without a system call."""
    source = facts.clock_source
    found = f"{source or 'unknown'}, steps of {show_ns(facts.clock_step_ns)}"
    if source is None or source in QUICK_CLOCKS:
        yield Finding("clock", Level.OK, found)
        return
    better = [name for name in facts.clock_sources if name in QUICK_CLOCKS]
    advice = "each reading is a system call; boot with clocksource=tsc if the processor's counter is steady"
    if better:
        advice = f"echo {better[0]} > /sys/devices/system/clocksource/clocksource0/current_clocksource"
    yield Finding("clock", Level.WARN, found, advice)


def timers(facts: Facts) -> Iterator[Finding]:
    """Threads that wake when they should."""
    if not facts.naps_late_ns:
        return
    naps = sorted(facts.naps_late_ns)
    typical, worst = naps[len(naps) // 2], naps[-1]
    found = f"a sleep ends {show_ns(typical)} late, {show_ns(worst)} at worst"
    if typical > LATE_NAP_NS:
        yield Finding(
            "timers",
            Level.WARN,
            found,
            "another program takes the processor: use a machine, or CPUs, of your own",
        )
    elif worst > LATEST_NAP_NS:
        advice = "the machine stalls now and then: isolated CPUs and SCHED_FIFO help if it is not shared"
        yield Finding("timers", Level.NOTE, found, advice)
    else:
        yield Finding("timers", Level.OK, found)


def scheduler(facts: Facts) -> Iterator[Finding]:
    """The right to run ahead of ordinary programs."""
    if facts.fifo is None:
        yield Finding("real-time scheduling", Level.OK, "SCHED_FIFO is granted")
        return
    soft, hard = facts.limits.get("rtprio", (0, 0))
    advice = "set `rtprio 80` for the user in /etc/security/limits.conf, or LimitRTPRIO=80 in the service"
    if hard > 0:
        advice = f"raise the soft limit: ulimit -r {hard}"
    found = f"SCHED_FIFO is refused: {facts.fifo} (rtprio {soft})"
    yield Finding("real-time scheduling", Level.NOTE, found, advice)


def realtime_throttling(facts: Facts) -> Iterator[Finding]:
    """Whether the kernel stops a real-time thread now and then."""
    if facts.fifo is None and facts.realtime_share is not None:
        found = f"real-time threads may take {100 * facts.realtime_share:g} % of a processor"
        advice = "with busy polling: sysctl kernel.sched_rt_runtime_us=-1"
        yield Finding("real-time throttling", Level.NOTE, found, advice)


def memory(facts: Facts) -> Iterator[Finding]:
    """The right to keep memory from being paged out."""
    soft, hard = facts.limits.get("memlock", (UNLIMITED, UNLIMITED))
    found = f"{bytes_of(UNLIMITED if facts.may_lock else soft)} may be locked"
    if facts.may_lock or reaches(soft, LOCKED_BYTES):
        yield Finding("locked memory", Level.OK, found)
        return
    advice = "set `memlock unlimited` in /etc/security/limits.conf, or LimitMEMLOCK=infinity in the service"
    if reaches(hard, LOCKED_BYTES):
        advice = "raise the soft limit: ulimit -l unlimited"
    yield Finding("locked memory", Level.NOTE, found, advice)


def files(facts: Facts) -> Iterator[Finding]:
    """One descriptor for each connection."""
    soft, hard = facts.limits.get("nofile", (UNLIMITED, UNLIMITED))
    found = f"{'unlimited' if soft == UNLIMITED else f'{soft:,}'} descriptors, one per connection"
    if reaches(soft, CONNECTIONS + 64):
        yield Finding("open files", Level.OK, found)
        return
    advice = "set `nofile 65536` in /etc/security/limits.conf, or LimitNOFILE=65536 in the service"
    if reaches(hard, CONNECTIONS + 64):
        advice = f"for more connections: ulimit -n {CONNECTIONS * 2}"
    yield Finding("open files", Level.NOTE, found, advice)


def processors(facts: Facts) -> Iterator[Finding]:
    """Enough processors, all of each."""
    found = f"{facts.cpus} usable"
    if facts.cpu_quota is not None and facts.cpu_quota < facts.cpus:
        found += f", limited to {facts.cpu_quota:g} by the control group"
        advice = "whoever has used up the share is stopped for up to 100 ms: lift cpu.max for the broker"
        yield Finding("processors", Level.WARN, found, advice)
    elif facts.cpus < 2:
        advice = "broker and clients share one processor: measure on at least two"
        yield Finding("processors", Level.NOTE, found, advice)
    else:
        yield Finding("processors", Level.OK, found)


def isolation(facts: Facts) -> Iterator[Finding]:
    """Processors on which nothing else runs."""
    if facts.isolated:
        yield Finding("isolated CPUs", Level.OK, f"{facts.isolated}: name them in [realtime] cpus")
    else:
        advice = "for the strictest time boot with isolcpus=… and name these in [realtime] cpus"
        yield Finding("isolated CPUs", Level.NOTE, "none", advice)


def frequency(facts: Facts) -> Iterator[Finding]:
    """Processors that do not slow down while they wait."""
    slow = sorted(facts.governors - {"performance"})
    if slow:
        advice = "cpupower frequency-set -g performance"
        yield Finding("CPU governor", Level.NOTE, ", ".join(slow), advice)
    elif facts.governors:
        yield Finding("CPU governor", Level.OK, "performance")


def datagrams(facts: Facts) -> Iterator[Finding]:
    """Room for a burst of datagrams."""
    if facts.receive_buffer_bytes is None:
        return
    found = f"at most {bytes_of(facts.receive_buffer_bytes)} for a socket"
    if facts.receive_buffer_bytes >= DATAGRAM_BUFFER_BYTES:
        yield Finding("UDP buffer", Level.OK, found)
    else:
        advice = f"bursts over UDP are lost beyond that: sysctl net.core.rmem_max={DATAGRAM_BUFFER_BYTES}"
        yield Finding("UDP buffer", Level.NOTE, found, advice)


def ports(facts: Facts) -> Iterator[Finding]:
    """Whether a broker can listen, or listens already."""
    for address, state in facts.ports.items():
        what = f"port {address}"
        if state == "free":
            yield Finding(what, Level.OK, "free: `giusto broker` can listen there")
        elif state == "broker":
            yield Finding(what, Level.OK, "a giusto broker answers")
        elif state == "taken":
            advice = "another program has it: giusto broker --listen tcp://127.0.0.1:7448"
            yield Finding(what, Level.WARN, "taken", advice)
        else:
            yield Finding(what, Level.WARN, state, "choose another address with --listen")


def spark(facts: Facts) -> Iterator[Finding]:
    """What the pipeline runs on; the bus does without."""
    if facts.spark is None:
        yield Finding("Spark", Level.OK, "Java and PySpark, for the pipeline")
    else:
        lack, _, advice = facts.spark.partition(": ")
        yield Finding("Spark", Level.NOTE, f"{lack}; only the pipeline needs it", advice)


CHECKS: list[Callable[[Facts], Iterator[Finding]]] = [
    python,
    native_core,
    clock,
    timers,
    scheduler,
    realtime_throttling,
    memory,
    files,
    processors,
    isolation,
    frequency,
    datagrams,
    ports,
    spark,
]


def reaches(limit: int, wanted: int) -> bool:
    """Whether a limit allows that much."""
    return limit == UNLIMITED or limit >= wanted


def bytes_of(count: int) -> str:
    """An amount of memory for people."""
    if count == UNLIMITED:
        return "any amount"
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if count < 1024 or unit == "GiB":
            return f"{count} {unit}"
        count //= 1024
    raise AssertionError("the last unit takes everything")
