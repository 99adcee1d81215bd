"""A standalone Spark cluster on this machine, from the pip package: one master and some workers."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

# Not a limit on speed: a cluster that never comes up must not stop the test run.
WATCHDOG_S = 240
STARTED = re.compile(r"Starting Spark master at (spark://\S+)")
REGISTERED = re.compile(r"Successfully registered with master")


@contextmanager
def cluster(folder: Path, workers: int = 2) -> Iterator[str]:
    """The address of the master, once all workers have registered with it."""
    with ExitStack() as running:
        address = running.enter_context(
            daemon(
                folder / "master",
                STARTED,
                "org.apache.spark.deploy.master.Master",
                *("--host", "127.0.0.1", "--port", "0", "--webui-port", "0"),
            )
        )[1]
        for number in range(workers):
            place = folder / f"worker-{number}"
            running.enter_context(
                daemon(
                    place,
                    REGISTERED,
                    "org.apache.spark.deploy.worker.Worker",
                    *("--host", "127.0.0.1", "--port", "0", "--webui-port", "0"),
                    *("--cores", "1", "--memory", "1g", "--work-dir", str(place / "work"), address),
                )
            )
        yield address


@contextmanager
def daemon(place: Path, sign: re.Pattern[str], *words: str) -> Iterator[re.Match[str]]:
    """A process of Spark, from the moment on at which its log shows the sign."""
    import pyspark

    place.mkdir(parents=True)
    program = Path(pyspark.__file__).parent / "bin" / "spark-class"
    settings = {
        **os.environ,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_MASTER_OPTS": "-Dspark.master.rest.enabled=false",
        "SPARK_LOCAL_DIRS": str(place / "local"),
    }
    log = place / "log"
    with log.open("wb") as file:
        process = subprocess.Popen(
            [program, *words], env=settings, cwd=place, stdin=subprocess.DEVNULL, stdout=file, stderr=file
        )
    try:
        yield seen(process, log, sign)
    finally:
        process.terminate()
        process.wait(timeout=WATCHDOG_S)


def seen(process: subprocess.Popen[bytes], log: Path, sign: re.Pattern[str]) -> re.Match[str]:
    """Where a log shows a sign, as soon as it does."""
    end = time.monotonic() + WATCHDOG_S
    while True:
        said = log.read_text(encoding="utf-8", errors="replace")
        found = sign.search(said)
        if found is not None:
            return found
        assert process.poll() is None, said
        assert time.monotonic() < end, said
        time.sleep(0.05)
