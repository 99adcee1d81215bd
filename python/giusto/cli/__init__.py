"""The command `giusto`: what people type to run a broker, look at it, and measure it.

Each command is a module of its name: it reads options, does, and shows.

    app                                      which commands there are
    broker, pub, sub, top, views, bench,
    doctor, paper, sweep                     one command each
    exits                                    how a failure ends a command: one line and an exit code
    lines, activity, histogram, pace,
    doctor.checks, bench.plan, sweep.table   what is shown and when, decided without I/O
    terminal, remarks                        how it is shown
"""

from __future__ import annotations


def main() -> None:
    """Run the command line; never returns."""
    from giusto.cli.app import app

    app(prog_name="giusto")
