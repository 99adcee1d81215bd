"""Which keys a scenario has, and what each may be."""

from __future__ import annotations

from giusto.config import kinds
from giusto.config.settings import BROKER, GUARANTEE, Setting
from giusto.errors import InvalidInput
from giusto.planning.scenario import ANY, POLICIES


def text(value: object, path: str) -> str:
    """A text with something in it."""
    if not isinstance(value, str) or not value:
        raise InvalidInput(path, value, "a text")
    return value


BROKER_KEYS = {
    "input": Setting(kinds.choice(*POLICIES, ANY), "policy of the input stage, or any"),
    **{key: BROKER[key] for key in ("mode", "period", "budget", "fragment_bytes")},
}
# All that bounds depend on: not how contracts are kept.
GUARANTEE_KEYS = {
    key: setting for key, setting in GUARANTEE.items() if key not in ("store", "reserve", "any_machine")
}
REST_KEYS = {
    "fanout": Setting(kinds.whole(0, 1_000_000), "most subscribers of a best-effort topic"),
    "max_size": Setting(kinds.whole(0, 2**24), "largest best-effort message"),
}
OFFER_KEYS = ("min_sep", "rate", "burst", "max_sep", "max_size", "timeout", "jitter", "queue")
NEED_KEYS = ("max_latency", "max_sep", "rate", "deadline", "price", "penalty")
