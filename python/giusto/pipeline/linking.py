"""Second names for record files: what is read stays there while it is read, under a name that Spark can read.

Spark takes some characters in names for patterns or addresses, and leaves out names that begin with a dot.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from pathlib import Path
from urllib.parse import quote, unquote_to_bytes

# Longer ones may not fit with what is written in front of them.
LONGEST = 200
HASHED = re.compile(r"~~[0-9a-f]{64}\.parquet")
SPECIAL = re.compile(r"([{}\[\]*?\\])")


def link_name(name: str) -> str:
    """A name without special characters, another for each; most are as they were.

    Names that are too long cannot be found again from what they became; those stay as they are.
    """
    if HASHED.fullmatch(name):
        return name
    plain = quote(os.fsencode(name), safe="").replace("~", "%7E")
    if plain[0] in "._":
        plain = f"%{ord(plain[0]):02X}{plain[1:]}"
    if len(plain) > LONGEST:
        return f"~~{hashlib.sha256(plain.encode()).hexdigest()}.parquet"
    return plain.replace("%", "~")


def linked_name(link: str) -> str:
    """The name that became this one, unless it was too long."""
    return link if link.startswith("~~") else os.fsdecode(unquote_to_bytes(link.replace("~", "%")))


def link(path: Path, name: Path) -> None:
    """A second name for a file, or a copy where that cannot be; whole at once."""
    unfinished = name.with_name(f".new-{name.name}")
    unfinished.unlink(missing_ok=True)
    source = os.path.realpath(path)  # a second name of a link would lead from there to elsewhere
    try:
        os.link(source, unfinished)
    except FileNotFoundError:
        raise
    except OSError:  # on another file system, or one without second names
        shutil.copyfile(source, unfinished)
    unfinished.replace(name)


def refer(path: Path, name: Path) -> bool:
    """A second name for a file that is read at once, without a copy of it; whether the file is there."""
    source = os.path.realpath(path)
    try:
        os.link(source, name)
    except FileNotFoundError:
        return False
    except OSError:  # on another file system, or one without second names
        name.symlink_to(source)
    return True


def literal(path: Path) -> str:
    """A path for Spark to read that is no pattern."""
    return SPECIAL.sub(r"\\\1", str(path))
