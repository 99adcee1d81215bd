"""What is told of a job that failed."""

from __future__ import annotations

import pytest

from giusto.pipeline.crash import cause_of

SEGFAULT = """An error occurred while calling o215.getResult.
: org.apache.spark.SparkException: Exception thrown in awaitResult:
\tat org.apache.spark.util.SparkThreadUtils$.awaitResult(SparkThreadUtils.scala:53)
Caused by: org.apache.spark.SparkException: Python worker exited unexpectedly (crashed): Fatal Python error: \
Segmentation fault

Current thread 0x00007fd909a38b80 (most recent call first):
  File "queues.py", line 3 in delay

Extension modules: numpy._core._multiarray_umath (total: 1)

\tat org.apache.spark.api.python.BasePythonRunner$ReaderIterator(PythonRunner.scala:798)
Caused by: java.io.EOFException
"""
KILLED = """: org.apache.spark.SparkException: Python worker exited unexpectedly (crashed):\x20

\tat org.apache.spark.api.python.BasePythonRunner$ReaderIterator(PythonRunner.scala:798)
"""
LOST = """An error occurred while calling o1.collect.
Caused by: org.apache.spark.SparkException: Job 3 cancelled because SparkContext was shut down
\tat org.apache.spark.scheduler.DAGScheduler(DAGScheduler.scala:1)
"""


def test_a_worker_that_died_is_told_with_the_stack_of_its_python() -> None:
    line, told = cause_of(SEGFAULT)
    assert line == "the worker process died: Fatal Python error: Segmentation fault"
    assert told.splitlines()[-1] == '  File "queues.py", line 3 in delay'
    assert "Extension modules" not in told


WORKER = """An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "filewise.py", line 3, in read
    open()
    ~~~~^^
KeyError: 'topic'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "filewise.py", line 5, in read
OSError: no such column
"""


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (KILLED, "the worker process died: it was killed, or ended itself"),
        (LOST, "Job 3 cancelled because SparkContext was shut down"),
        ("Connection refused", "Connection refused"),
        (WORKER, "OSError: no such column"),
        ("", "an error without a text"),
    ],
)
def test_a_failure_is_told_in_one_line(text: str, line: str) -> None:
    assert cause_of(text)[0] == line
