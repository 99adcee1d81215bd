"""Records on the disk: a folder of whole Parquet files, a manifest of what was kept and what not, and facts.

    writer = TraceWriter(Options(folder="trace"), drain, node="ward-3", run="…")

Brokers, clients and the simulator write it; `giusto.record.read` reads it without Spark. Arrow is loaded when
the first file is written.
"""

from giusto.trace.clock import wall_offset_ns
from giusto.trace.layout import FileFacts
from giusto.trace.options import Options
from giusto.trace.writer import TraceWriter

__all__ = ["FileFacts", "Options", "TraceWriter", "wall_offset_ns"]
