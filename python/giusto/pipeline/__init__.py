"""Spark: what runs on all cores or on a cluster, and what is learned from many runs.

    run, stream                 records in, tables and a verdict out (from `running`)
    once, streaming             a batch; a stream that goes on where it ended
    tables, delivering          what the tables are made of
    output, origin              the folder they are kept in, whole or not at all; what they were made of
    verdict, judging, result    what they come to, and how to read them
    work, progress, manifests   jobs of Spark; how far they are; what the writers of records lost
    session, jvm, volume,
    shipping                    one Spark session per process, quiet, embedded unless told otherwise
    prerequisites, scratch      what it needs, and where it keeps what nobody needs later
    sweep                       many runs of one experiment: run, go on, summarise
    cases, spec                 which runs: a table of parameters, from Python or from TOML
    experiment, fingerprint     what is run, found by its name, and which code that was
    registry, waiting           experiments that have a short name
    waves, task, flight, crash  how cases reach Spark and come back, or do not
    folder                      where results are kept, whole or not at all
    summary, confidence         means and how sure they are

`pyspark` is imported when it is needed, and nowhere else in giusto: `giusto[spark]` brings it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from giusto.pipeline.result import Result as Result
    from giusto.pipeline.running import run as run
    from giusto.pipeline.running import stream as stream

_HOMES = {"run": "running", "stream": "running", "Result": "result"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"giusto.pipeline.{_HOMES[name]}"), name)
