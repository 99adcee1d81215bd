"""Whether a run makes the page of its tables anew: if there is one beside them, which would be older."""

from __future__ import annotations

import shlex
from pathlib import Path

from giusto.report import NAME, write


def renewed(out: Path) -> str:
    """What to say of the page; it is made anew if there is one."""
    if (out / NAME).is_file():
        return f"page, made anew: {write(out)}"
    return f"a page of them: giusto report {shlex.quote(str(out))}"
