"""What every test run decides first: that the extension is fresh, and what the random tests draw.

GIUSTO_SEED (a whole number) fixes what they draw; without it a seed is drawn anew, and printed.
GIUSTO_CASES (1) multiplies how many cases they draw.
"""

from __future__ import annotations

import os
import secrets
import signal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

ROOT = Path(__file__).parents[1]
# Marks of tests that need more than the README asks for, and what goes untested without it.
SAID_IF_SKIPPED = {"spark": "of the pipeline", "browser": "of the report in a browser"}

# A shell starts what it runs in the background deaf to Ctrl-C, and all that this starts would be deaf too.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def whole_number(name: str, default: int) -> int:
    """The environment option `name`, or `default` if it is not set."""
    text = os.environ.get(name, "").strip()
    if not text:
        return default
    if not text.isdecimal():
        pytest.exit(f"{name} = {text}: expected a whole number", returncode=pytest.ExitCode.USAGE_ERROR)
    return int(text)


def staleness(root: Path) -> str | None:
    """Why the extension must not be tested against the sources under `root`, if it must not."""
    try:
        from giusto._build import require_fresh
        from giusto.errors import StaleExtension
    except ImportError as error:
        return f"giusto._core cannot be imported ({error}): run `make build`"
    try:
        require_fresh(root)
    except StaleExtension as error:
        return str(error)
    return None


# First of all plugins: hypothesis reads its seed in the same hook.
@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Refuse a stale extension; give hypothesis our seed and number of cases."""
    problem = staleness(ROOT)
    if problem is not None:
        pytest.exit(problem, returncode=pytest.ExitCode.USAGE_ERROR)

    # In the environment, so that the workers of xdist draw from the same seed.
    seed = whole_number("GIUSTO_SEED", secrets.randbits(32))
    os.environ["GIUSTO_SEED"] = str(seed)
    if config.option.hypothesis_seed is None:
        config.option.hypothesis_seed = str(seed)

    cases = max(1, whole_number("GIUSTO_CASES", 1))
    # Hypothesis would draw the same cases in every run if it sees that CI is set.
    settings.register_profile(
        "giusto", deadline=None, derandomize=False, print_blob=True, max_examples=100 * cases
    )
    settings.load_profile("giusto")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Tests go to workers one by one; those on Spark in two halves, as a session takes long to start.

    The marks for groups of xdist do not work with all versions of pytest.
    """
    from xdist.scheduler import LoadScopeScheduling

    class FewSessions(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return half_of_spark(nodeid) or nodeid

    return FewSessions(config, log)


def half_of_spark(nodeid: str) -> str | None:
    """Which half of the tests on Spark a test is in, if any; both take about the same time."""
    if not nodeid.startswith("tests/spark/"):
        return None
    return "whole pipelines" if nodeid.startswith("tests/spark/test_pipeline") else "the rest of Spark"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the seed, and the command that draws the same cases again."""
    tell_skipped(terminalreporter)
    seed, cases = os.environ["GIUSTO_SEED"], os.environ.get("GIUSTO_CASES", "1")
    terminalreporter.write_line(f"seed: GIUSTO_SEED={seed} GIUSTO_CASES={cases}")


def tell_skipped(terminalreporter: pytest.TerminalReporter) -> None:
    """A part that could not be tested here is said aloud: nobody reads the number of skipped tests."""
    # A module that is skipped as a whole has a report without keywords.
    reports = terminalreporter.stats.get("skipped", [])
    for mark, what in SAID_IF_SKIPPED.items():
        skipped = [report for report in reports if mark in getattr(report, "keywords", ())]
        if skipped:
            why = str(skipped[0].longrepr[2]).removeprefix("Skipped: ")
            terminalreporter.write_line(
                f"NOT TESTED: {len(skipped)} tests {what}. {why}", red=True, bold=True
            )


@pytest.fixture(scope="session")
def seed() -> int:
    """The seed of this run, for tests that draw with `random.Random(seed)`."""
    return int(os.environ["GIUSTO_SEED"])


@pytest.fixture(scope="session")
def cases() -> int:
    """By how much this run multiplies the number of random cases."""
    return max(1, whole_number("GIUSTO_CASES", 1))
