"""The examples in the documents are true: every `>>>` in them runs and prints what the page says."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^[ \t]*(```|~~~).*$", re.MULTILINE)


def examples(name: str, text: str) -> doctest.DocTest:
    """The examples of a Markdown page; a fence ends what an example prints."""
    return doctest.DocTestParser().get_doctest(FENCE.sub("", text), {}, name, name, 0)


def complaints(test: doctest.DocTest) -> str:
    """What running the examples, in one namespace, found wrong."""
    found: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=found.append)
    return "".join(found)


def pages() -> list[str]:
    """Every document that has an example."""
    documents = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    return sorted(str(path.relative_to(ROOT)) for path in documents if ">>> " in path.read_text("utf-8"))


@pytest.mark.parametrize("name", pages())
def test_the_examples_of_a_page_are_true(name: str) -> None:
    test = examples(name, (ROOT / name).read_text("utf-8"))
    assert test.examples
    assert complaints(test) == ""


def test_a_wrong_example_is_found() -> None:
    right = "```pycon\n>>> 1 + 1\n2\n```\nand\n```pycon\n>>> 2 + 2\n4\n```\n"
    assert complaints(examples("right", right)) == ""
    assert len(examples("right", right).examples) == 2
    assert "Expected:\n    5" in complaints(examples("wrong", right.replace("\n4", "\n5")))
