"""How the workers of a cluster get giusto: as an archive of this package, which Spark unpacks for each.

So workers run the code of the driver, whether or not they have giusto themselves. What giusto needs there is
what Spark's own Python needs: pyarrow and pandas.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path

UNPACKED = "giusto-code"
ARCHIVES = "spark.archives"
SHIPPED = (".py", ".so")


def shipped(folder: Path, given: Mapping[str, str]) -> dict[str, str]:
    """Settings that bring the archive, which is written to `folder`, beside archives that were `given`."""
    archive = folder / f"{UNPACKED}.zip"
    pack(Path(__file__).parents[1], archive)
    own = f"{archive}#{UNPACKED}"
    paths = [UNPACKED, given.get("spark.executorEnv.PYTHONPATH", "")]
    return {
        ARCHIVES: ",".join(filter(None, [given.get(ARCHIVES, ""), own])),
        "spark.executorEnv.PYTHONPATH": ":".join(filter(None, paths)),
    }


def pack(package: Path, archive: Path) -> None:
    """Write the modules of a package, native ones included, into an archive."""
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as packed:
        for path in sorted(package.rglob("*")):
            if path.suffix in SHIPPED and "__pycache__" not in path.parts:
                packed.write(path, path.relative_to(package.parent))
