"""Which Python module may import which: downwards only, as DESIGN draws it.

    cli → dashboard | papers | report | testing → aio | grm | node | overlay | pipeline | steward
        → broker | client | planning | sim → guarantee | retain
        → record | trace | config | contract | message | models | protocol → _build → errors | _core

Neighbours of one layer do not import each other, except among the plain values (`record`, `trace`, `config`,
`contract`, `message`, `models`, `protocol`) and at the very bottom. The package itself, `giusto`, is the
front of the house: it may import anything, and nothing may import it.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

LAYERS: list[set[str]] = [
    {"errors", "_core"},
    {"_build"},
    {"record", "trace", "config", "contract", "message", "models", "protocol"},
    {"guarantee", "retain"},
    {"broker", "client", "planning", "sim"},
    {"aio", "grm", "node", "overlay", "pipeline", "steward"},
    {"dashboard", "papers", "report", "testing"},
    {"cli", "__main__"},
    {"giusto"},
]
SOCIABLE = LAYERS[0] | LAYERS[2] | LAYERS[7]
HEIGHT = {name: height for height, names in enumerate(LAYERS) for name in names}
# Packages that only one part of giusto may import.
ONLY_IN = {"pyspark": "pipeline"}


def layer_problems(root: Path) -> list[str]:
    """Imports that point upwards or sideways, and modules without a layer."""
    problems = []
    for path in modules(root):
        here = part(root, path)
        if here not in HEIGHT:
            problems.append(f"{path.relative_to(root)}: {here} has no layer: add it to LAYERS")
            continue
        for name in imports(root, path):
            problem = refusal(root, here, name)
            if problem is not None:
                problems.append(f"{path.relative_to(root)} imports {name}: {problem}")
    return problems


def refusal(root: Path, here: str, name: str) -> str | None:
    """Why the part `here` must not import `name`, if it must not."""
    package = name.split(".")[0]
    if package != "giusto":
        if here == "guarantee" and package not in sys.stdlib_module_names:
            return "guarantee is pure and needs the standard library alone"
        owner = ONLY_IN.get(package, here)
        return None if here == owner else f"only giusto.{owner} may"
    there = target(root, name)
    if there == here:
        return None
    if there not in HEIGHT:
        return "it has no layer: add it to LAYERS"
    if HEIGHT[there] > HEIGHT[here]:
        return f"{there} lies above {here}"
    if HEIGHT[there] == HEIGHT[here] and here not in SOCIABLE:
        return f"{there} lies beside {here}"
    return None


def modules(root: Path) -> list[Path]:
    """Every Python module of the package."""
    return sorted((root / "python" / "giusto").rglob("*.py"))


def part(root: Path, path: Path) -> str:
    """The first name below `giusto` of a module's path; `giusto` for the package itself."""
    first = path.relative_to(root / "python" / "giusto").parts[0].removesuffix(".py")
    return "giusto" if first == "__init__" else first


def target(root: Path, name: str) -> str:
    """The part that `giusto.a.b` belongs to; a name that is no module belongs to the package itself."""
    names = name.split(".")
    if len(names) == 1:
        return "giusto"
    package = root / "python" / "giusto"
    is_module = names[1] in HEIGHT or (package / names[1]).is_dir() or (package / f"{names[1]}.py").exists()
    return names[1] if is_module else "giusto"


def imports(root: Path, path: Path) -> Iterator[str]:
    """Full names of all that a module imports, also inside functions: `giusto.errors.Unknown`."""
    package = path.relative_to(root / "python").parent.parts
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            prefix = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{prefix}.{alias.name}" for alias in node.names)
