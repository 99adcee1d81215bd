"""Which Spark session this process uses: one, quiet, embedded unless told otherwise."""

from __future__ import annotations

import atexit
import os
import re
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from giusto.errors import InvalidInput, SparkFailed
from giusto.pipeline.crash import cause_of
from giusto.pipeline.jvm import end_jvm, launch, require_going_on
from giusto.pipeline.prerequisites import require_spark
from giusto.pipeline.scratch import Scratch
from giusto.pipeline.shipping import shipped

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MASTER = "local[*]"
MASTERS = re.compile(r"local(\[(\*|[1-9]\d*)(,\s*\d+)?\])?|(spark|k8s)://\S+|yarn")
LOG = "jvm.log"
CHECKPOINTS = "spark.sql.streaming.checkpointFileManagerClass"
# Longer, and the name of a socket in it would be longer than systems allow: 103 bytes.
SOCKET_FOLDER = 55
# The code of many tables is more than the 48 MB that there are without the second compiler; when they are
# full, nothing is compiled any more. What the JVM has to say is not for the standard output.
JVM_OPTIONS = (
    "-XX:+UseParallelGC -XX:-UsePerfData -XX:ReservedCodeCacheSize=240m"
    " -Xlog:disable -Xlog:all=error:stderr -Dlog4j2.configurationFile={log} -Djava.io.tmpdir={folder}"
)
LOG_SETTINGS = """\
status = error
appender.err.type = Console
appender.err.name = err
appender.err.target = SYSTEM_ERR
appender.err.layout.type = PatternLayout
appender.err.layout.pattern = %d %p %c: %m%n%ex
rootLogger.level = error
rootLogger.appenderRef.err.ref = err
"""

# For jobs that are short or leave the work to Python: compiling well would take longer than it saves.
QUICK = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1"}

_scratch: Scratch | None = None
_interrupted: Any = None  # what Ctrl-C did before PySpark had it cancel jobs


def session(master: str | None = None, settings: Mapping[str, str] | None = None) -> SparkSession:
    """The session of this process; it is started if there is none, which takes some seconds.

    `master` is `local[*]` unless given: also `local[4]`, `spark://host:7077`, `yarn` or `k8s://…`. A session
    that runs already, also one that was not made here, is used as it is: another master is refused then, and
    `settings` of Spark are for one that is started.
    """
    require(master)
    running = active()
    if running is None:
        return started(MASTER if master is None else master, settings or {})
    uses = running.sparkContext.master
    if master is not None and master != uses:
        raise InvalidInput("master", master, f"{uses}, which this process uses already")
    return running


def require(master: str | None) -> None:
    """Refuse a master that is none, and say what is missing here, before anything is started."""
    if master is not None and not MASTERS.fullmatch(master):
        raise InvalidInput("master", master, "local[*], local[4], spark://host:port, yarn or k8s://host:port")
    require_spark()


def active() -> SparkSession | None:
    """The session that runs in this process, if one does."""
    with quiet_imports():
        from pyspark.sql import SparkSession

    found = SparkSession.getActiveSession() or SparkSession._instantiatedSession
    alive = found is not None and getattr(found.sparkContext, "_jsc", None) is not None
    return found if alive else None


def started(master: str, settings: Mapping[str, str]) -> SparkSession:
    """A new session with a JVM of its own."""
    global _scratch, _interrupted
    with quiet_imports():
        from pyspark.sql import SparkSession

    _scratch, _interrupted = Scratch(), signal.getsignal(signal.SIGINT)
    folder = _scratch.path
    prepare_environment(master)
    builder = SparkSession.builder.master(master).appName("giusto")
    chosen = {**defaults(master, folder), **settings}
    if not is_embedded(master):
        chosen |= shipped(folder, chosen)
    for name, value in chosen.items():
        builder = builder.config(name, value)
    atexit.register(stop)
    try:
        launch({"spark.master": master, **chosen}, folder / LOG)
        made = builder.getOrCreate()
        keep_own_handler()
        if is_embedded(master) and CHECKPOINTS not in settings:
            hasten_checkpoints(made)
        return made
    except Exception as error:
        require_going_on()
        problem = reason(str(error), tail(folder / LOG))
        stop()
        raise SparkFailed(f"it does not start with master {master}: {problem}") from error


def hasten_checkpoints(spark: SparkSession) -> None:
    """Let streams write their logs to local disks without starting a program for each of them.

    Spark's own choice asks one for the status of every file: a tenth of a second in each micro-batch.
    """
    for package in ("checkpointing.", ""):  # of this version of Spark, and of older ones
        name = f"org.apache.spark.sql.execution.streaming.{package}FileSystemBasedCheckpointFileManager"
        with suppress(Exception):  # not there
            jvm: Any = spark._jvm
            jvm.java.lang.Class.forName(name)
            spark.conf.set(CHECKPOINTS, name)
            return


def keep_own_handler() -> None:
    """PySpark lets Ctrl-C cancel jobs; a program that has its own way with Ctrl-C keeps it."""
    is_main = threading.current_thread() is threading.main_thread()
    if is_main and _interrupted not in (None, signal.SIG_DFL, signal.default_int_handler):
        signal.signal(signal.SIGINT, _interrupted)


def stop() -> None:
    """End the session that was started here, with its JVM, and remove what it kept; again does nothing."""
    global _scratch
    if _scratch is None:
        return
    atexit.unregister(stop)
    with suppress(Exception):  # a JVM that is gone cannot be told to stop
        end_session()
    with suppress(Exception):
        end_jvm()
    if threading.current_thread() is threading.main_thread() and _interrupted is not None:
        signal.signal(signal.SIGINT, _interrupted)
    _scratch.remove()
    _scratch = None


def end_session() -> None:
    """Stop what the session runs."""
    running = active()
    if running is not None:
        running.stop()


def defaults(master: str, folder: Path) -> dict[str, str]:
    """Settings for a few cores and short jobs; figures behind them are in the guide."""
    log = folder / "log4j2.properties"
    log.write_text(LOG_SETTINGS, encoding="utf-8")
    found = {
        "spark.driver.defaultJavaOptions": JVM_OPTIONS.format(log=log, folder=folder),
        "spark.local.dir": str(folder),
        "spark.python.unix.domain.socket.enabled": str(len(str(folder)) <= SOCKET_FOLDER).lower(),
        "spark.python.worker.faulthandler.enabled": "true",
        "spark.sql.caseSensitive": "true",
        # All tables have some hundred classes of generated code. Spark keeps a hundred: the others would be
        # compiled anew, by Spark and then by Java, in every micro-batch.
        "spark.sql.codegen.cache.maxEntries": "2000",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.files.maxPartitionBytes": "64m",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": str(min(8, max(2, os.cpu_count() or 2))),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    if is_embedded(master):
        found |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    return found


def prepare_environment(master: str) -> None:
    """Let workers run the same Python; keep an embedded Spark off the network."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if is_embedded(master):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")


def is_embedded(master: str) -> bool:
    """Whether the driver's process does the work itself."""
    return master.startswith("local")


@contextmanager
def quiet_imports() -> Iterator[None]:
    """PySpark warns at import about the versions of others, which the extra has settled."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def reason(error: str, log: str) -> str:
    """Why Spark did not start, in a line: what the JVM said last counts if it did not get far."""
    if "stopped SparkContext" in error:  # the end of all attempts to reach a cluster
        return "nobody answers there; start the cluster, or name another one"
    said = [line.strip() for line in log.splitlines() if line.strip() and not line.startswith("\tat ")]
    return "; ".join([cause_of(error)[0], *said[-3:]])


def tail(path: Path, lines: int = 10) -> str:
    """The last lines of a log."""
    with suppress(OSError):
        return "\n".join(path.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])
    return ""
