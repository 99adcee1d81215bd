"""What tracing every message costs a broker: its throughput with and without, and who spends how much time.

A publisher sends as fast as it can to one subscriber, for a while without tracing, then with, again and
again; figures are medians. It sends on one topic, and then on 64 in turn, so that every record is of another
topic than the one before, which is more work for the writer. `data thread` is what forwards: with a
processor of its own, its time per message is what limits the broker. `writer` is all that turns records into
files, beside it. On a machine with few processors the writer, the load and the data thread take them from
each other: `throughput` shows that too.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from giusto import record
from giusto.trace.manifest import lines

ROUNDS = 7
SECONDS = 2
QUEUE = 8_192
ROOT = Path(__file__).parents[1]
DATA_THREAD = "giusto-data"
LOADS = {
    "": ("throughput",),
    "64 topics: ": ("many", "--connections", "2", "--topics", "64"),
}
"""How the names of figures begin, and what the load is told: one connection publishes, one subscribes."""


@dataclass(frozen=True, slots=True)
class Round:
    """What one run of the load came to; times are nanoseconds per message."""

    rate: float
    data_ns: float
    other_ns: float
    records: int = 0
    dropped: int = 0
    file_bytes: int = 0


def figure(case: str, value: float, unit: str) -> None:
    """Print one line for `run.py`."""
    print(json.dumps({"bench": "tracing", "case": case, "value": value, "unit": unit}), flush=True)


def load_program() -> str:
    """The load generator, built as a release build."""
    command = ["cargo", "build", "--quiet", "--release", "--package", "giusto-benchmarks", "--bin", "load"]
    form = "--message-format=json-render-diagnostics"
    built = subprocess.run([*command, form], cwd=ROOT, stdout=subprocess.PIPE, check=True)
    artifacts = [json.loads(line) for line in built.stdout.splitlines()]
    return next(str(one["executable"]) for one in artifacts if one.get("executable"))


@contextmanager
def broker(*options: str) -> Iterator[tuple[int, str]]:
    """A broker, by process and address."""
    command = [sys.executable, "-m", "giusto", "broker", "--listen", "tcp://127.0.0.1:0", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        ready = process.stdout.readline().strip()
        try:
            yield process.pid, ready.removeprefix("ready giusto://")
        finally:
            process.terminate()
            process.wait()


def spent_ns(pid: int) -> tuple[int, int]:
    """Processor time of the data thread, and of all others."""
    data = others = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        spent = int((task / "schedstat").read_text().split()[0])
        if (task / "comm").read_text().strip() == DATA_THREAD:
            data += spent
        else:
            others += spent
    return data, others


def play(load: str, words: Sequence[str], *options: str) -> Round:
    """One run of the load against a fresh broker."""
    with broker(*options) as (pid, address):
        before = spent_ns(pid)
        mode, *more = words
        command = [load, mode, "giusto", address, "--seconds", str(SECONDS), "--queue", str(QUEUE), *more]
        said = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
        data, others = (end - start for start, end in zip(before, spent_ns(pid), strict=True))
    return Round(said["rate"], data / said["sent"], others / said["sent"])


def play_traced(load: str, words: Sequence[str]) -> Round:
    """The same with every message traced, and what is in the files in the end."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        found = play(load, words, "--trace", folder)
        files = record.files(folder)
        said = [line for path in Path(folder, "manifest").iterdir() for line in lines(path)]
        rows = sum(line["rows"] for line in said if line["event"] == "file")
        dropped = sum(line["rows"] for line in said if line["event"] == "dropped")
        size = sum(file.stat().st_size for file in files)
    return Round(found.rate, found.data_ns, found.other_ns, rows, dropped, size)


def middle(rounds: list[Round], name: str) -> float:
    return float(statistics.median(getattr(one, name) for one in rounds))


def alternate(load: str, words: Sequence[str]) -> tuple[list[Round], list[Round]]:
    """Without and with, in turn, so that whatever else the machine does falls on both."""
    plain, traced = [], []
    for _ in range(ROUNDS):
        plain.append(play(load, words))
        traced.append(play_traced(load, words))
    return plain, traced


def report(title: str, plain: list[Round], traced: list[Round]) -> None:
    """All figures of a load."""
    pairs = list(zip(plain, traced, strict=True))
    slower = 100 * statistics.median(1 - after.rate / before.rate for before, after in pairs)
    longer = 100 * statistics.median(after.data_ns / before.data_ns - 1 for before, after in pairs)
    beside_ns = middle(traced, "other_ns") - middle(plain, "other_ns")
    records, dropped = (sum(getattr(one, name) for one in traced) for name in ("records", "dropped"))
    size_bytes = sum(one.file_bytes for one in traced) / records
    for case, value, unit in (
        ("throughput, not traced", middle(plain, "rate") / 1e6, "million messages/s"),
        ("throughput, every message traced", middle(traced, "rate") / 1e6, "million messages/s"),
        ("throughput that tracing costs", slower, "%"),
        ("data thread, not traced", middle(plain, "data_ns"), "ns per message"),
        ("data thread, every message traced", middle(traced, "data_ns"), "ns per message"),
        ("data thread's time that tracing costs", longer, "%"),
        ("writer, beside it", beside_ns, "ns per message"),
        ("size of a record on the disk", size_bytes, "bytes"),
        ("records that were dropped", 100 * dropped / (records + dropped), "%"),
    ):
        figure(title + case, value, unit)


def main() -> None:
    """Each load in turn."""
    load = load_program()
    for title, words in LOADS.items():
        report(title, *alternate(load, words))


if __name__ == "__main__":
    main()
