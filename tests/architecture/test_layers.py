"""Python imports point downwards, and `import giusto` stays light."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from rules import layers

ROOT = Path(__file__).parents[2]
Plant = Callable[[dict[str, str]], Path]
HEAVY = ["numpy", "pyarrow", "pyspark", "rich", "typer"]


def test_imports_point_downwards() -> None:
    assert len(layers.modules(ROOT)) > 2
    assert layers.layer_problems(ROOT) == []


@pytest.mark.parametrize(
    ("name", "code", "problem"),
    [
        ("errors.py", "from giusto import record", "record lies above errors"),
        ("record.py", "from giusto.guarantee import twrr", "guarantee lies above record"),
        ("guarantee/twrr.py", "from ..sim import run", "sim lies above guarantee"),
        ("guarantee/twrr.py", "import numpy", "needs the standard library alone"),
        ("sim/run.py", "def f():\n    from giusto.client import connect", "client lies beside sim"),
        ("node/table.py", "import giusto.overlay.routing", "overlay lies beside node"),
        ("pipeline/silver.py", "import giusto.cli", "cli lies above pipeline"),
        ("client/bus.py", "import giusto", "giusto lies above client"),
        ("client/bus.py", "from giusto import Offer", "giusto lies above client"),
        ("grm/graph.py", "from pyspark.sql import DataFrame", "only giusto.pipeline may"),
        ("extra.py", "", "extra has no layer"),
    ],
)
def test_a_wrong_import_is_found(plant: Plant, name: str, code: str, problem: str) -> None:
    problems = layers.layer_problems(plant({f"python/giusto/{name}": code}))
    assert len(problems) == 1
    assert problem in problems[0]


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("__init__.py", "from giusto.client import connect"),
        ("config.py", "from .contract import Offer\nfrom . import errors"),
        (
            "guarantee/twrr.py",
            "from fractions import Fraction\nfrom ..errors import Overload\nfrom . import table",
        ),
        ("sim/run.py", "import numpy\nfrom giusto import _core, guarantee"),
        ("pipeline/silver.py", "from pyspark.sql import DataFrame"),
    ],
)
def test_a_right_import_is_no_problem(plant: Plant, name: str, code: str) -> None:
    assert layers.layer_problems(plant({f"python/giusto/{name}": code})) == []


def test_importing_giusto_loads_nothing_heavy() -> None:
    code = f"import sys, giusto; print(*sorted(set(sys.modules) & set({HEAVY})))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout.split() == []
