"""Which settings of Spark suit millions of records: heap, partitions, what stays in memory."""

from __future__ import annotations

import os
from pathlib import Path

GIB = 1 << 30
LEAST_HEAP, MOST_HEAP = GIB, 8 * GIB
COMPILED = "-XX:-DontCompileHugeMethods"
# Numbers that hardly repeat: a dictionary of them would be made and thrown away in every file.
UNLIKE = (
    *("sequence", "t_intended_ns", "t_sent_ns", "t_ingress_ns", "t_selected_ns", "t_egress_ns"),
    *("t_received_ns", "latency_ns", "latency_low_ns", "latency_high_ns", "inside_ns", "network_in_ns"),
    *("queue_ns", "egress_ns", "network_out_ns", "wall_ns"),
)
CGROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")


def volume(cores: int | None = None, memory_bytes: int | None = None) -> dict[str, str]:
    """Settings for the driver of this machine, which is also the worker if Spark is embedded."""
    cores = (os.cpu_count() or 2) if cores is None else cores
    memory_bytes = machine_memory() if memory_bytes is None else memory_bytes
    return {
        "spark.driver.memory": f"{heap_bytes(memory_bytes) >> 20}m",
        # Every one of them costs a task even if it is empty; adaptive execution only ever makes fewer.
        "spark.sql.shuffle.partitions": str(min(64, max(4, 2 * cores))),
        # Sorting begins when a hash table has so many groups: by default after 128 of them.
        "spark.sql.objectHashAggregate.sortBased.fallbackThreshold": "1000000",
        # Code for wide rows is so long that Java would not compile it: half the speed.
        "spark.driver.extraJavaOptions": COMPILED,
        "spark.executor.extraJavaOptions": COMPILED,
        "spark.sql.parquet.compression.codec": "lz4_raw",
        **{f"spark.hadoop.parquet.enable.dictionary#{name}": "false" for name in UNLIKE},
        "spark.sql.streaming.metricsEnabled": "false",
        "spark.sql.streaming.numRecentProgressUpdates": "2",
        "spark.hadoop.mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
    }


def heap_bytes(memory_bytes: int) -> int:
    """Half of the memory: the other half is for the broker beside it, Python and the page cache."""
    return min(MOST_HEAP, max(LEAST_HEAP, memory_bytes // 2))


def machine_memory(limit: Path = CGROUP_LIMIT) -> int:
    """Bytes that this machine, or the container around this process, has."""
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        return min(whole, int(limit.read_text(encoding="ascii")))
    except (OSError, ValueError):  # no container, or one without a limit
        return whole
