"""Whether Spark can run here, and if not, what to install."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from giusto.errors import NotInstalled

OLDEST_JAVA = 17
PACKAGES = ("pyspark", "pyarrow", "pandas")
JAVA_REMEDY = (
    f"install Java {OLDEST_JAVA} or newer (Debian: apt install openjdk-{OLDEST_JAVA}-jre-headless)"
    " and let PATH or JAVA_HOME lead to it"
)


def require_spark(environ: Mapping[str, str] = os.environ) -> None:
    """Raise `NotInstalled` with the first thing that is missing."""
    for package in PACKAGES:
        if find_spec(package) is None:
            raise NotInstalled(f"the Python package {package}", 'pip install "giusto[spark]"')
    java = java_path(environ)
    if java is None:
        raise NotInstalled("Java", JAVA_REMEDY)
    said = version_of(java)
    version = java_version(said)
    if version is None:
        raise NotInstalled(f"a Java that runs ({java} says {said.strip()[:200]!r})", JAVA_REMEDY)
    if version < OLDEST_JAVA:
        raise NotInstalled(f"a newer Java than {version} ({java})", JAVA_REMEDY)


def java_path(environ: Mapping[str, str]) -> str | None:
    """The program that Spark will start: JAVA_HOME first, as Spark looks for it."""
    home = environ.get("JAVA_HOME")
    if home:
        return shutil.which(str(Path(home) / "bin" / "java"))
    return shutil.which("java", path=environ.get("PATH", ""))


@cache
def version_of(java: str) -> str:
    """What a Java says about itself."""
    try:
        done = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    except OSError as error:
        return str(error)
    return done.stderr + done.stdout


def java_version(said: str) -> int | None:
    """The major version in what `java -version` prints; 8 and older call themselves 1.8."""
    found = re.search(r'version "(\d+)(?:\.(\d+))?', said)
    if found is None:
        return None
    major, minor = int(found[1]), int(found[2] or 0)
    return minor if major == 1 else major
