"""How jobs of Spark run for a pipeline: several at a time, ended together, with errors for people."""

from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from giusto.errors import GiustoError, SparkFailed
from giusto.pipeline.crash import cause_of
from giusto.pipeline.jvm import require_going_on

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# The end of one job, when few of its tasks are left, is the beginning of another.
AT_ONCE = 3
FULL = ("No space left on device", "Disk quota exceeded")


class Work:
    """The jobs of one pipeline on a session that others may use, too."""

    def __init__(self, spark: SparkSession, out: Path) -> None:
        self.spark = spark
        self.out = out
        self.tag = f"giusto-pipeline-{os.getpid()}-{id(self)}"
        self.spent_s: dict[str, float] = {}
        self._lock = threading.Lock()

    @contextmanager
    def spending(self, what: str) -> Iterator[None]:
        """Counts the time that something takes."""
        start_s = time.monotonic()
        try:
            yield
        finally:
            with self._lock:
                self.spent_s[what] = self.spent_s.get(what, 0.0) + time.monotonic() - start_s

    def write(self, frame: DataFrame, folder: Path, files: int | None = None) -> None:
        """The rows of a table as Parquet; in so many files, if told."""
        with self.explained():
            self.spark.sparkContext.addJobTag(self.tag)  # of this thread
            (frame if files is None else frame.repartition(files)).write.mode("overwrite").parquet(
                str(folder)
            )

    def do(self, job: Callable[[], Any]) -> Any:
        """Another job."""
        with self.explained():
            self.spark.sparkContext.addJobTag(self.tag)
            return job()

    def all(self, jobs: Iterable[Callable[[], Any]]) -> None:
        """Jobs at the same time; the first that fails ends the others."""
        pool = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="giusto-pipeline")
        try:
            for done in [pool.submit(self.do, job) for job in jobs]:
                done.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            self.cancel()
            raise
        finally:
            pool.shutdown()

    def cancel(self) -> None:
        """End what is under way."""
        with suppress(Exception):  # a JVM that is gone runs nothing
            self.spark.sparkContext.cancelJobsWithTag(self.tag)

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Failures of Spark as errors of giusto."""
        try:
            yield
        except GiustoError:
            raise
        except Exception as error:  # of PySpark, Py4J, or a connection to a JVM that is gone
            require_going_on()
            raise explanation(str(error), self.out) from error


def explanation(text: str, out: Path) -> GiustoError | OSError:
    """What a failure of Spark means."""
    for sign in FULL:
        if sign in text:
            return OSError(errno.ENOSPC, f"{sign}: the tables are as they were before", str(out))
    return SparkFailed(f"{cause_of(text)[0]}; the tables are as they were before")
