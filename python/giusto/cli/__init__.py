"""The command `giusto`: what people type to run a broker, look at it, and measure it.

app        which commands there are
exits      how a failure ends a command: one line and an exit code
broker, pub, sub, top, bench, doctor        one command each: reads options, does, shows
lines, activity, histogram, doctor.checks   what is shown, decided without I/O
"""

from __future__ import annotations


def main() -> None:
    """Run the command line; never returns."""
    from giusto.cli.app import app

    app(prog_name="giusto")
