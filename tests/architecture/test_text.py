"""Nothing in the tree tells where it was written or needs a private registry."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from rules import text, tree

ROOT = Path(__file__).parents[2]
Plant = Callable[[dict[str, str]], Path]
SETTING = "index" + "-url"


def test_the_tree_is_free_of_machines_and_registries() -> None:
    assert len(tree.files(ROOT)) > 20
    assert text.text_problems(ROOT) == []


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("README.md", "see /wo" + "rk/shared", "names the path"),
        ("a.py", 'x = "/ro' + 'ot/.cargo"', "names the path"),
        ("b.toml", "path = '/ho" + "me/ann/x'", "names the path"),
        ("pyproject.toml", f"{SETTING} = 'https://packages.example.org'", "sets a package registry"),
        (".cargo/config.toml", "[source" + ".crates-io]\nreplace" + "-with = 'x'", "sets a package registry"),
        ("Cargo.lock", 'source = "registry+https://crates.example.org/index"', "from crates.example.org"),
        ("requirements.txt", "giusto @ https://user@pypi.example.org/x.whl", "from pypi.example.org"),
    ],
)
def test_a_private_place_is_found(plant: Plant, name: str, content: str, problem: str) -> None:
    problems = text.text_problems(plant({name: content}))
    assert len(problems) == 1
    assert problem in problems[0]


def test_public_defaults_and_ordinary_words_are_no_problem(plant: Plant) -> None:
    files = {
        "Cargo.lock": 'source = "registry+https://github.com/rust-lang/crates.io-index"',
        "README.md": "network/work, https://example.org/work and ward/3/alarm",
    }
    assert text.text_problems(plant(files)) == []
