"""Whether a query can run, found out where it is written: the broker is there, and has what is asked for."""

from __future__ import annotations

from giusto.pipeline.source import remote
from giusto.pipeline.source.options import Options
from giusto.pipeline.source.remote import Remote


def require_source(options: Options) -> None:
    """Refuse a source that has nothing to read."""
    asked = Remote(options)
    try:
        if options.is_records:
            asked.require_records()
        elif options.is_volatile:
            asked.require_broker()
        else:
            asked.find(options.pattern)
    finally:
        remote.forget(options.url)


def require_sink(options: Options) -> None:
    """Refuse a sink that nobody takes rows for."""
    try:
        Remote(options).require_sink()
    finally:
        remote.forget(options.url)
