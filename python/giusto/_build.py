"""Whether the native extension was built from the sources beside it."""

from __future__ import annotations

import hashlib
from pathlib import Path

from giusto import _core
from giusto.errors import StaleExtension


def source_digest(root: Path) -> str:
    """The digest that `crates/giusto-py/build.rs` stamps into the extension."""
    files = [root / "Cargo.toml"]
    files += [path for path in (root / "crates").rglob("*") if path.suffix in {".rs", ".toml"}]
    digest = hashlib.sha256()
    for name, path in sorted((str(path.relative_to(root).as_posix()), path) for path in files):
        data = path.read_bytes()
        digest.update(name.encode() + f"\0{len(data)}\0".encode() + data)
    return digest.hexdigest()


def require_fresh(root: Path) -> None:
    """Raise `StaleExtension` unless the extension was built from the sources under `root`."""
    if _core.SOURCE_DIGEST != source_digest(root):
        raise StaleExtension(
            "giusto._core was not built from the Rust sources in this tree: run `make build`"
        )


def require_release() -> None:
    """Raise `StaleExtension` unless the extension is a release build."""
    if _core.PROFILE != "release":
        raise StaleExtension(
            f"giusto._core is a {_core.PROFILE} build, benchmarks need a release build: run `make build`"
        )
