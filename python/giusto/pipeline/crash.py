"""Why a job of Spark failed, in a line and in full, without the stack of the JVM."""

from __future__ import annotations

import re

CRASHED = "Python worker exited unexpectedly (crashed):"
CAUSE = re.compile(r"^Caused by: (?:[\w.$]+: )?(.+)$", re.MULTILINE)
TRACED = re.compile(r"^(?:.*: )?Traceback \(most recent call last\):\n(?:[ \t].*\n|\n)*(\S.*)", re.MULTILINE)
# What Python prints beside the stack when it dies, and what the JVM adds.
END = re.compile(r"^\tat |^Extension modules: |^Caused by: ", re.MULTILINE)
LETTERS = 4_000


def cause_of(text: str) -> tuple[str, str]:
    """A line, and what is known beside it: of a worker that died, the stack of its Python."""
    _, crashed, after = text.partition(CRASHED)
    if crashed:
        told = END.split(after, maxsplit=1)[0].strip()
        line = told.partition("\n")[0] or "it was killed, or ended itself"
        return f"the worker process died: {line}", told[:LETTERS]
    told_by_jvm = [each for each in CAUSE.findall(text) if not each.startswith("Traceback ")]
    causes = told_by_jvm or TRACED.findall(text)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    line = causes[-1] if causes else next(iter(lines), "an error without a text")
    return line[:300], text[:LETTERS]
