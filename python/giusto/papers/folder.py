"""Where the papers are, and how the code of one of them is loaded.

They are part of the repository, not of the package: the folder is `GIUSTO_PAPERS`, else `papers` beside the
sources that are installed, else `papers` in the working directory or above it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from giusto.errors import InvalidInput, NotInstalled
from giusto.papers import sheet
from giusto.papers.experiment import Code
from giusto.papers.results import Outcome, kept
from giusto.papers.sheet import Sheet

VARIABLE = "GIUSTO_PAPERS"
REMEDY = f"clone the repository of giusto and run this inside it, or set {VARIABLE} to its folder papers"


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper that is here: its claims are read, its code is loaded when it is asked for."""

    key: str
    folder: Path
    sheet: Sheet

    @property
    def code(self) -> Code:
        """Its experiments and figures."""
        return _code(self.folder)

    @property
    def outcome(self) -> Outcome | None:
        """What the last full run of all papers kept, if there was one."""
        return kept(self.folder, self.sheet)


def found() -> list[Paper]:
    """Every paper, by key."""
    return [_paper(folder) for folder in _keys(_folder())]


def find(key: str) -> Paper:
    """One paper by its key."""
    return _paper(_named(key))


def code_of(key: str) -> Code:
    """The code of a paper, without a look at its claims."""
    return _code(_named(key))


def sources() -> list[Path]:
    """The code of all papers."""
    return sorted(_folder().rglob("*.py"))


def _named(key: str) -> Path:
    names = {folder.name: folder for folder in _keys(_folder())}
    if key not in names:
        raise InvalidInput("paper", key, f"one of {', '.join(names)}")
    return names[key]


def _code(folder: Path) -> Code:
    code = getattr(_module(folder.name, folder), "CODE", None)
    if not isinstance(code, Code):
        raise InvalidInput(f"papers/{folder.name}/__init__.py: CODE", code, "a giusto.papers.Code")
    return code


def _paper(folder: Path) -> Paper:
    return Paper(folder.name, folder, sheet.read(folder / sheet.FILE))


def _keys(folder: Path) -> list[Path]:
    return sorted(file.parent for file in folder.glob(f"*/{sheet.FILE}"))


def _folder() -> Path:
    named = os.environ.get(VARIABLE)
    if named:
        if not _keys(Path(named)):
            raise InvalidInput(VARIABLE, named, f"a folder with papers, each with its {sheet.FILE}")
        return Path(named).resolve()
    for candidate in _candidates():
        if _keys(candidate):
            return candidate
    raise NotInstalled("the folder papers", REMEDY)


def _candidates() -> Iterator[Path]:
    yield Path(__file__).resolve().parents[3] / "papers"
    here = Path.cwd()
    yield from (folder / "papers" for folder in (here, *here.parents))


def _module(key: str, folder: Path) -> object:
    """The package of a paper, of this folder and no other, under a name that nobody else uses."""
    name, file = f"giusto_paper_{key}", folder / "__init__.py"
    loaded = sys.modules.get(name)
    if loaded is not None and loaded.__file__ == str(file):
        return loaded
    for old in [each for each in sys.modules if each == name or each.startswith(f"{name}.")]:
        del sys.modules[old]
    spec = spec_from_file_location(name, file, submodule_search_locations=[str(folder)])
    if spec is None or spec.loader is None or not file.exists():
        raise InvalidInput(f"papers/{key}", file, "a package: __init__.py is missing")
    module = module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
