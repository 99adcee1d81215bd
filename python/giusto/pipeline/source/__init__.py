"""Spark reads topics and writes to them: format `giusto`.

    datasource  what Spark is told: schema, readers, writers
    options     what the caller said
    checking    what is refused before anything runs: broker away, nothing retained
    inaline     errors of our own without the traceback of a worker
    remote      questions to the steward of a broker
    ranges      positions: where a query begins, how far it goes, how a range is split
    reader      batches; `pushed` says which of Spark's filters are answered by the broker's side
    stream      micro-batches of retained topics: every message once
    volatile    micro-batches of other topics: at most once
    records     the records of a tracing broker; `files` says which of them are new
    rows        Arrow as Spark wants it
    writer      staged by tasks, committed by the driver, published once

`spark.dataSource.register(GiustoDataSource)` makes the format known to a session.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from giusto.pipeline.prerequisites import require_spark
from giusto.pipeline.session import quiet_imports

if TYPE_CHECKING:
    from giusto.pipeline.source.datasource import GiustoDataSource

__all__ = ["GiustoDataSource"]


def __getattr__(name: str) -> Any:
    if name != "GiustoDataSource":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    require_spark()
    with quiet_imports():
        from giusto.pipeline.source.datasource import GiustoDataSource

    return GiustoDataSource
