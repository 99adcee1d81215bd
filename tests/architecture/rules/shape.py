"""How modules are named, how they open, and how long they may be.

As a program it prints the yardstick: `python -m rules.shape` in `tests/architecture`.
"""

from __future__ import annotations

import ast
import re
import statistics
from pathlib import Path

from rules import tree

LONGEST = 600
SAYS_NOTHING = re.compile(r"^(utils?|helpers?|managers?|misc|common|stuff)$|_(utils?|helpers?|manager)$")


def name_problems(root: Path) -> list[str]:
    """Modules and folders whose name does not say what they are about."""
    problems = []
    for path in tree.sources(root):
        names = [*path.relative_to(root).parts[:-1], path.stem]
        problems += [
            f"{path.relative_to(root)}: {name} says nothing; name the noun it is about"
            for name in names
            if SAYS_NOTHING.search(name)
        ]
    return problems


def opening_problems(root: Path) -> list[str]:
    """Modules that do not open with a sentence that says what they decide."""
    return [
        f"{path.relative_to(root)} does not open with a sentence"
        for path in tree.sources(root)
        if not tree.is_test(root, path) and is_public(root, path) and not opening(path)
    ]


def is_public(root: Path, path: Path) -> bool:
    """Whether others read the module: all but the private files of the binding crate, and build scripts."""
    parts = path.relative_to(root).parts
    return "giusto-py" not in parts or path.name in {"lib.rs", "build.rs"}


def opening(path: Path) -> str:
    """The first line of a module's documentation, or nothing if it has none."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        document = ast.get_docstring(ast.parse(text)) or ""
        return document.partition("\n")[0].strip()
    first = next((line for line in text.splitlines() if line.strip()), "")
    return first.removeprefix("//!").strip() if first.startswith("//!") else ""


def size_problems(root: Path, longest: int = LONGEST) -> list[str]:
    """Modules that are too long to be about one thing; tests do not count."""
    return [
        f"{name} has {lines} lines, more than {longest}: split it by noun"
        for name, lines in sizes(root).items()
        if lines > longest
    ]


def sizes(root: Path) -> dict[str, int]:
    """Lines of every module without its tests, longest first."""
    found = {
        path.relative_to(root).as_posix(): lines(path)
        for path in tree.sources(root)
        if not tree.is_test(root, path)
    }
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def lines(path: Path) -> int:
    """Lines before the unit tests that close a Rust module; all lines of a Python module."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".rs":
        text = re.split(r"^#\[cfg\(test\)\]\s*mod ", text, maxsplit=1, flags=re.MULTILINE)[0]
    return len(text.splitlines())


def yardstick(root: Path) -> str:
    """Median, 90th percentile and maximum of module lengths, and the five longest."""
    measured = sizes(root)
    counts = sorted(measured.values())
    tenth = counts[min(len(counts) - 1, len(counts) * 9 // 10)]
    middle = statistics.median(counts)
    head = f"lines per module: median {middle:g}, 90th percentile {tenth}, most {counts[-1]}"
    longest = [f"  {count:4d} {name}" for name, count in list(measured.items())[:5]]
    return "\n".join([head, *longest])


if __name__ == "__main__":
    print(yardstick(Path(__file__).parents[3]))
