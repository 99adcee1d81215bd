"""One Spark session for all tests of one worker; where Spark cannot run, they are skipped."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from giusto.errors import NotInstalled
from giusto.pipeline.prerequisites import require_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The session of this worker, on two cores."""
    try:
        require_spark()
    except NotInstalled as error:
        pytest.skip(f"Spark cannot run here: {error}")
    from giusto.pipeline import session

    yield session.session("local[2]", session.QUICK)
    session.stop()


@pytest.fixture(autouse=True)
def with_spark(spark: SparkSession) -> None:
    """Every test here needs it."""


@pytest.fixture(scope="module")
def giusto_spark(spark: SparkSession) -> SparkSession:
    """The session, which knows the format."""
    from giusto.pipeline.source import GiustoDataSource

    spark.dataSource.register(GiustoDataSource)
    return spark
