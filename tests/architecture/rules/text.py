"""What no file may contain: paths of one machine, and hosts or settings of a private package registry."""

from __future__ import annotations

import re
from pathlib import Path

from rules import tree

PUBLIC_HOSTS = {
    "crates.io",
    "index.crates.io",
    "static.crates.io",
    "github.com",
    "pypi.org",
    "files.pythonhosted.org",
    "repo.maven.apache.org",
    "registry.npmjs.org",
}
# Files in which a tool writes down where packages come from.
LOCK = re.compile(r"(^|/)([\w.-]+\.lock|[\w.-]*lock\.json|requirements[\w.-]*\.txt|pip\.conf)$")
SETTINGS = re.compile(
    r"(extra-)?index[-_]url\b | \bfind[-_]links\b | \btrusted-host\b"
    r"| \breplace-with\b | ^\s*\[source\. | \[\[tool\.uv\.index\]\]",
    re.MULTILINE | re.IGNORECASE | re.VERBOSE,
)
HOST = re.compile(r"https?://(?:[^/@\s\"']*@)?([\w.-]+)")
# Put together from parts, so that this file does not contain them itself.
FOLDERS = "|".join(["wo" + "rk", "ro" + "ot", "ho" + r"me/\w+", "tm" + "p/(?:wt|brief|target|venv)"])
MACHINE_PATH = re.compile(rf"(?<![\w.$)}}\]*-])/(?:{FOLDERS})\b")


def text_problems(root: Path) -> list[str]:
    """Files that would tell, or need, where they were written."""
    problems = []
    for path in tree.files(root):
        name = path.relative_to(root).as_posix()
        text = path.read_bytes().decode("utf-8", errors="replace")
        problems += [f"{name} names the path {found}" for found in sorted(set(MACHINE_PATH.findall(text)))]
        problems += registry_problems(name, text)
    return problems


def registry_problems(name: str, text: str) -> list[str]:
    """Hosts and settings by which packages would come from elsewhere than the public default."""
    problems = []
    if name != "tests/architecture/rules/text.py" and (setting := SETTINGS.search(text)):
        problems.append(f"{name} sets a package registry: {setting.group().strip()}")
    if LOCK.search(name):
        strange = sorted(set(HOST.findall(text)) - PUBLIC_HOSTS)
        problems += [f"{name} takes packages from {host}" for host in strange]
    return problems
