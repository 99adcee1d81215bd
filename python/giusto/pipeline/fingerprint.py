"""Which code gave a result: results of other code are never mixed with it."""

from __future__ import annotations

import hashlib
import importlib
from pathlib import Path

from giusto import _core, sim
from giusto.pipeline.experiment import find, full_name, sources


def fingerprint(experiment: str) -> dict[str, str]:
    """What must be the same for two results to belong together.

    The version of giusto, the sources of its native core, those of the simulator, and those of the
    experiment: its module, all modules of the package that it is in, and what it says it runs besides.
    """
    module_name = full_name(experiment).partition(":")[0]
    return {
        "experiment": full_name(experiment),
        "giusto": _core.VERSION,
        "core": _core.SOURCE_DIGEST,
        "simulator": digest(sources_of(sim.__name__)),
        "sources": digest(sources_of(module_name) + sources(find(experiment))),
    }


def sources_of(module_name: str) -> list[Path]:
    """The files that a module is made of: with its neighbours if it is in a package, else alone."""
    module = importlib.import_module(module_name)
    if module.__file__ is None:
        return []
    path = Path(module.__file__)
    if not module.__package__:
        return [path]
    return sorted(path.parent.rglob("*.py"))


def digest(paths: list[Path]) -> str:
    """Of names and contents."""
    found = hashlib.sha256()
    for path in paths:
        data = path.read_bytes()
        found.update(path.name.encode() + f"\0{len(data)}\0".encode() + data)
    return found.hexdigest()[:32]
