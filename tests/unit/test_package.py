"""The front of the house: names that are there without a further import."""

from __future__ import annotations

import subprocess
import sys

import pytest

NAMES = ["errors", "testing", "aio", "InvalidInput", "TooLarge", "FilterSyntax", "Duplicate", "Unknown"]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_there_when_it_is_first_used(name: str) -> None:
    program = f"import giusto\nassert {name!r} in dir(giusto)\nassert giusto.{name} is not None"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_name_that_is_not_there_is_said_to_be_so() -> None:
    import giusto

    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        giusto.nothing  # noqa: B018
