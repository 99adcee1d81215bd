"""Modules have telling names, open with a sentence and stay short."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from rules import shape

ROOT = Path(__file__).parents[2]
Plant = Callable[[dict[str, str]], Path]


def test_names_say_what_a_module_is_about() -> None:
    assert shape.name_problems(ROOT) == []


def test_modules_open_with_a_sentence() -> None:
    assert shape.opening_problems(ROOT) == []


def test_modules_are_short() -> None:
    assert shape.size_problems(ROOT) == [], shape.yardstick(ROOT)


@pytest.mark.parametrize(
    "name",
    [
        "python/giusto/utils.py",
        "crates/giusto-core/src/helpers/mod.rs",
        "python/giusto/grm/switch_manager.py",
    ],
)
def test_an_empty_name_is_found(plant: Plant, name: str) -> None:
    assert len(shape.name_problems(plant({name: ""}))) == 1


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("python/giusto/a.py", "import os\n"),
        ("python/giusto/a.py", '"""   """\n'),
        ("crates/giusto-core/src/a.rs", "// A comment.\nuse std::fmt;\n"),
        ("crates/giusto-core/src/a.rs", "//!\n"),
    ],
)
def test_a_module_without_an_opening_is_found(plant: Plant, name: str, text: str) -> None:
    assert shape.opening_problems(plant({name: text})) == [f"{name} does not open with a sentence"]


def test_an_opening_is_seen(plant: Plant) -> None:
    files = {"python/giusto/a.py": '"""Decides."""\n', "crates/giusto-core/src/a.rs": "\n//! Decides.\n"}
    assert shape.opening_problems(plant(files)) == []


def test_a_long_module_is_found_without_its_tests(plant: Plant) -> None:
    tests = "#[cfg(test)]\nmod tests {\n" + "\n" * 900 + "}\n"
    files = {
        "crates/giusto-core/src/long.rs": "\n" * 601,
        "crates/giusto-core/src/short.rs": "\n" * 600 + tests,
        "tests/unit/test_long.py": "\n" * 900,
    }
    problems = shape.size_problems(plant(files))
    assert problems == ["crates/giusto-core/src/long.rs has 601 lines, more than 600: split it by noun"]
    assert "most 601" in shape.yardstick(plant({}))
