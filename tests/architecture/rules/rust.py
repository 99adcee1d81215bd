"""Which crate may know what: core ← sim, core ← net, all ← py; only giusto-py knows Python."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ALLOWED: dict[str, set[str]] = {
    "giusto-core": set(),
    "giusto-sim": {"giusto-core"},
    "giusto-net": {"giusto-core"},
    "giusto-py": {"giusto-core", "giusto-sim", "giusto-net"},
    "giusto-benchmarks": {"giusto-core", "giusto-sim", "giusto-net"},
    "giusto-fuzz": {"giusto-core", "giusto-net"},
}
# Crates by which a clock, a thread, a socket or chance would come into the core.
EFFECTS = {"chrono", "fastrand", "getrandom", "libc", "rand", "time"}
EFFECTS |= {"crossbeam", "mio", "nix", "rayon", "socket2", "tokio"}
FORBIDDEN = {
    "a clock": r"\bstd::time::(Instant|SystemTime)\b|\b(Instant|SystemTime)::now\b",
    "a thread": r"\bstd::thread\b|\bthread_local!",
    "the network": r"\bstd::net\b",
    "files": r"\bstd::fs\b",
    "input or output": r"\bstd::io\b|\be?println?!|\bdbg!",
    "the process": r"\bstd::(env|process)\b",
    "chance": r"\brand::",
    "unsafe code": r"\bunsafe\b",
}
NOT_CODE = re.compile(
    r"""//[^\n]* | /\*.*?\*/ | r(\#*)".*?"\1 | "(?:\\.|[^"\\])*" | '(?:\\[^']+|\\'|[^'\\])' """,
    re.VERBOSE | re.DOTALL,
)


def dependency_problems(root: Path) -> list[str]:
    """Crates that depend on what they must not know, or opt out of the workspace's lints."""
    problems = []
    for path in manifests(root):
        manifest = tomllib.loads(path.read_text(encoding="utf-8"))
        crate = manifest["package"]["name"]
        if manifest.get("lints") != {"workspace": True}:
            problems.append(f"{crate} does not take the lints of the workspace")
        if crate not in ALLOWED:
            problems.append(f"{crate} has no place in the order of crates: add it to ALLOWED")
            continue
        problems += [
            f"{crate} depends on {needed}: {reason}"
            for needed in sorted(dependencies(manifest))
            if (reason := refusal(crate, needed))
        ]
    return problems


def manifests(root: Path) -> list[Path]:
    """The manifest of every crate."""
    alone = [path for name in ("benchmarks", "fuzz") for path in root.glob(f"{name}/Cargo.toml")]
    return sorted([*root.glob("crates/*/Cargo.toml"), *alone])


def refusal(crate: str, needed: str) -> str | None:
    """Why `crate` must not depend on `needed`, if it must not."""
    if needed.startswith("giusto-") and needed not in ALLOWED[crate]:
        return "dependencies point one way"
    if needed.split("-")[0] == "pyo3" and crate != "giusto-py":
        return "only giusto-py knows Python"
    if crate == "giusto-core" and needed.split("_")[0].split("-")[0] in EFFECTS:
        return "the core decides without effects"
    return None


def dependencies(manifest: dict[str, Any]) -> set[str]:
    """The crates that a manifest names, for building, running and testing, on any platform."""
    tables = [manifest, *manifest.get("target", {}).values()]
    kinds = ("dependencies", "dev-dependencies", "build-dependencies")
    return {
        spec.get("package", name) if isinstance(spec, dict) else name
        for table in tables
        for kind in kinds
        for name, spec in table.get(kind, {}).items()
    }


def purity_problems(root: Path) -> list[str]:
    """Sources of giusto-core that reach for a clock, a thread, I/O, chance or unsafe code."""
    problems = []
    for path in sorted(root.glob("crates/giusto-core/src/**/*.rs")):
        code = NOT_CODE.sub(" ", path.read_text(encoding="utf-8"))
        spelled = "\n".join([code, *imported(code)])
        problems += [
            f"{path.relative_to(root)} uses {what}"
            for what, pattern in FORBIDDEN.items()
            if re.search(pattern, spelled)
        ]
    return problems


def imported(code: str) -> Iterator[str]:
    """Every path that `use` names, with braces written out: `use std::{fs, io::Read}` names two."""
    for tree in re.findall(r"\buse\s+([^;]+);", code):
        yield from spell_out("".join(tree.split()))


def spell_out(tree: str) -> Iterator[str]:
    """The paths of one `use` tree."""
    prefix, brace, rest = tree.partition("{")
    if not brace or "}" not in rest:
        yield tree
        return
    depth, start, body = 0, 0, rest[: rest.rindex("}")]
    for at, letter in enumerate(body + ","):
        depth += (letter == "{") - (letter == "}")
        if letter == "," and depth == 0:
            if at > start:
                yield from (prefix + path for path in spell_out(body[start:at]))
            start = at + 1


CHAINS_SINCE = (1, 88)


def chain_problems(root: Path) -> list[str]:
    """Sources with `if let … && …`, which the oldest compiler that the workspace promises does not know."""
    manifest = tomllib.loads((root / "Cargo.toml").read_text(encoding="utf-8"))
    oldest = manifest["workspace"]["package"]["rust-version"]
    if tuple(map(int, oldest.split("."))) >= CHAINS_SINCE:
        return []
    sources = sorted(
        path for folder in ("crates", "benchmarks", "fuzz") for path in root.glob(f"{folder}/**/*.rs")
    )
    return [
        f"{path.relative_to(root)} chains conditions with `let`, which Rust {oldest} does not know"
        for path in sources
        if has_chain(NOT_CODE.sub(" ", path.read_text(encoding="utf-8")))
    ]


def has_chain(code: str) -> bool:
    """Whether a condition with `let` has a `&&` outside of brackets."""
    starts = re.finditer(r"\b(?:if|while)\s+let\b", code)
    return bool(re.search(r"&&\s*let\b", code)) or any(is_chained(code, start.end()) for start in starts)


def is_chained(code: str, at: int) -> bool:
    """Whether `&&` comes before the block of the condition that goes on at `at`."""
    depth = 0
    for place in range(at, len(code)):
        letter = code[place]
        depth += (letter in "([") - (letter in ")]")
        if depth == 0 and letter in "{;":
            return False
        if depth == 0 and code.startswith("&&", place):
            return True
    return False
