"""How a wave of cases is run by Spark, and who is to blame when a worker dies of it."""

from __future__ import annotations

import json
import os
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias

from giusto.errors import InvalidInput, SparkFailed
from giusto.pipeline.cases import CASE, Cases
from giusto.pipeline.crash import cause_of
from giusto.pipeline.experiment import Outcome
from giusto.pipeline.task import ANSWERS, OUTCOMES, Asks, Runs, outcome_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Landed: TypeAlias = list[tuple[str, Outcome]]


class Cancelled(Exception):
    """The sweep ends; what was under way does not matter."""


class Flights:
    """Runs waves of one sweep, from several threads, until they are cancelled."""

    def __init__(self, spark: SparkSession, experiment: str, cases: Cases) -> None:
        self.spark = spark
        self.experiment = experiment
        self.cases = cases
        self.tag = f"giusto-sweep-{os.getpid()}-{id(self)}"
        self._paths = driver_paths(spark.sparkContext.master or "")
        self._ended = threading.Event()

    @property
    def cores(self) -> int:
        """How many tasks run at the same time."""
        return max(1, self.spark.sparkContext.defaultParallelism)

    def require_same_code(self, own: dict[str, str]) -> None:
        """Refuse workers that lack the experiment or would run other code; this also warms them up."""
        asked = self.spark.range(0, self.cores, 1, self.cores).mapInArrow(
            Asks(self.experiment, self._paths), ANSWERS
        )
        for text in set(self._collected(asked).column("answer").to_pylist()):
            answer = json.loads(text)
            if isinstance(answer, str):
                raise InvalidInput("experiment", self.experiment, f"one that workers find: {answer}")
            for what in own:
                if answer[what] != own[what]:
                    raise InvalidInput(what, answer[what], f"{own[what]} on workers, as on the driver")

    def fly(self, digests: list[str]) -> Landed:
        """Run these cases. If their job fails, half of them each, down to the one that a worker died of."""
        if self._ended.is_set():
            raise Cancelled
        try:
            return self._flown(digests)
        except Exception as error:
            if self._ended.is_set():
                raise Cancelled from None
            if len(digests) == 1:
                self._require_alive(error)
                return [(digests[0], Outcome(0.0, {}, *cause_of(str(error))))]
            middle = len(digests) // 2
            return self.fly(digests[:middle]) + self.fly(digests[middle:])

    def cancel(self) -> None:
        """End all that is under way; may be called again."""
        self._ended.set()
        with suppress(Exception):  # a JVM that is gone runs nothing
            self.spark.sparkContext.cancelJobsWithTag(self.tag)

    def _flown(self, digests: list[str]) -> Landed:
        frame = self.spark.createDataFrame(self.cases.table(digests))
        rows = self._collected(frame.mapInArrow(Runs(self.experiment, self._paths), OUTCOMES)).to_pylist()
        landed = [(row[CASE], outcome_of(row)) for row in rows]
        if sorted(digest for digest, _ in landed) != sorted(digests):
            raise SparkFailed(f"{len(landed)} outcomes came back of {len(digests)} cases")
        return landed

    def _collected(self, frame: Any) -> Any:
        self.spark.sparkContext.addJobTag(self.tag)  # of this thread
        return frame.toArrow()

    def _require_alive(self, error: Exception) -> None:
        """Whether it was the case: Spark itself still works."""
        try:
            self.spark.range(1).count()
        except Exception:
            problem = f"it does not answer any more ({cause_of(str(error))[0]}); results so far are kept"
            raise SparkFailed(problem) from error


def driver_paths(master: str) -> list[str]:
    """Where workers on this machine look for modules, too: where this process does."""
    return [os.path.abspath(path) for path in sys.path] if master.startswith("local") else []
