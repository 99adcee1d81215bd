"""Which files were left out of the tables: the first few by name, and where all of them are listed."""

from __future__ import annotations

from pathlib import Path


def left_out(out: Path) -> list[str]:
    """Lines for people; none if every file was used."""
    from giusto.pipeline.output import FILES, named, read_files

    files = read_files(out)
    return [f"files left out: {named(files)}", f"all of them: {out / FILES}"] if files else []
