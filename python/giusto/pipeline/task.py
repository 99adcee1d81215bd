"""What a worker does with the cases that it gets: one run each, and an outcome for each, also if it fails."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from giusto.errors import GiustoError
from giusto.pipeline.cases import CASE
from giusto.pipeline.experiment import Outcome, find, let_import_from, run

if TYPE_CHECKING:
    import pyarrow as pa

# The outcome as Spark and Arrow call its columns. Numbers travel as JSON: their names are the experiment's.
OUTCOMES = "case string, seconds double, numbers string, error string, trace string"
ANSWERS = "answer string"


class Runs:
    """Runs cases of one experiment; `paths` are where the asking process finds modules."""

    def __init__(self, experiment: str, paths: list[str]) -> None:
        self.experiment = experiment
        self.paths = paths

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        let_import_from(self.paths)
        function = find(self.experiment)
        for batch in batches:
            rows = [row(case.pop(CASE), run(function, case)) for case in batch.to_pylist()]
            yield pa.RecordBatch.from_pylist(rows, schema=columns(OUTCOMES))


class Asks:
    """Answers which code this worker would run, or why it cannot."""

    def __init__(self, experiment: str, paths: list[str]) -> None:
        self.experiment = experiment
        self.paths = paths

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for batch in batches:
            yield pa.RecordBatch.from_pylist([{"answer": self.answer()}] * batch.num_rows, columns(ANSWERS))

    def answer(self) -> str:
        """The fingerprint as JSON, or an error as text in JSON."""
        from giusto.pipeline.fingerprint import fingerprint

        let_import_from(self.paths)
        try:
            find(self.experiment)
            return json.dumps(fingerprint(self.experiment))
        except GiustoError as error:
            return json.dumps(str(error))


def row(digest: str, outcome: Outcome) -> dict[str, Any]:
    """An outcome on its way to the driver."""
    return {
        "case": digest,
        "seconds": outcome.seconds,
        "numbers": json.dumps(outcome.values),
        "error": outcome.error,
        "trace": outcome.trace,
    }


def outcome_of(found: dict[str, Any]) -> Outcome:
    """An outcome that arrived."""
    return Outcome(found["seconds"], json.loads(found["numbers"]), found["error"], found["trace"])


def columns(described: str) -> pa.Schema:
    """The same columns for Arrow."""
    import pyarrow as pa

    types = {"string": pa.string(), "double": pa.float64()}
    pairs = (column.split() for column in described.split(", "))
    return pa.schema([(name, types[kind]) for name, kind in pairs])
