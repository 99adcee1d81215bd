"""How records are laid out in a Parquet file: what is quick to write, small, and read by everybody.

Instants and sequence numbers as differences, all else by dictionary, and no compression: it would take the
processor that the broker needs, and find little. Statistics of the instants let readers skip row groups.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from giusto.record import VERSION, VERSION_KEY, schema
from giusto.trace.layout import METADATA_KEY, FileFacts

if TYPE_CHECKING:
    import pyarrow as pa

_RISING = (
    "sequence",
    "t_intended_ns",
    "t_sent_ns",
    "t_ingress_ns",
    "t_selected_ns",
    "t_egress_ns",
    "t_received_ns",
)


class RecordFile:
    """A file of records that grows by row groups; it has what it says of itself when it is closed."""

    def __init__(self, path: Path) -> None:
        import pyarrow.parquet as pq

        self.path = path
        self.rows = 0
        self.first_ns: int | None = None
        self.last_ns: int | None = None
        self._sink = path.open("wb", buffering=0)
        try:
            self._writer = pq.ParquetWriter(
                self._sink,
                schema(),
                use_dictionary=[name for name in schema().names if name not in _RISING],
                column_encoding=dict.fromkeys(_RISING, "DELTA_BINARY_PACKED"),
                compression="none",
                write_statistics=["t_sent_ns", "t_ingress_ns"],
            )
        except BaseException:
            self._sink.close()
            path.unlink(missing_ok=True)
            raise

    def add(self, rows: pa.Table) -> None:
        """Write a row group; raises `OSError` if the disk takes it not."""
        import pyarrow.compute as pc

        self._writer.write_table(rows, row_group_size=rows.num_rows)
        self.rows += rows.num_rows
        span = pc.min_max(rows["t_ingress_ns"]).as_py()
        self.first_ns = min(filter(_is_known, (self.first_ns, span["min"])), default=None)
        self.last_ns = max(filter(_is_known, (self.last_ns, span["max"])), default=None)

    @property
    def bytes(self) -> int:
        """Bytes written so far."""
        return self._sink.tell()

    def close(self, facts: FileFacts) -> None:
        """End the file; it is complete then, but perhaps not on the disk."""
        said = {METADATA_KEY: facts.to_metadata(), VERSION_KEY: str(VERSION).encode()}
        try:
            self._writer.add_key_value_metadata(said)
            self._writer.close()
        finally:
            self._sink.close()

    def abandon(self) -> None:
        """Leave it as it is: it will never be complete."""
        try:
            self._writer.close()
        except OSError:
            pass  # The disk that did not take the records does not take their end either.
        finally:
            self._sink.close()


def _is_known(value: int | None) -> bool:
    return value is not None
