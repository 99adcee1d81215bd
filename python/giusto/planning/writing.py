"""The broker configuration that a plan amounts to, as TOML."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields

from giusto.config import Guarantee
from giusto.contract.duration import spell_ns
from giusto.planning.plain import share_fields
from giusto.planning.result import Plan
from giusto.protocol import ShareTerms


def configuration(plan: Plan) -> str:
    """What `giusto broker --config` reads."""
    return "\n".join([*_head(plan), *_broker(plan), *_guarantee(plan), *_topics(plan), ""])


def _head(plan: Plan) -> Iterator[str]:
    yield f"# Written by `giusto plan`: {plan.headline}."
    for failure in plan.failures:
        yield f"# Not held: {failure.need}, {failure.client} on {failure.pattern}."
    yield ""


def _broker(plan: Plan) -> Iterator[str]:
    config = plan.scenario.config
    yield "[broker]"
    yield f'input = "{plan.input}"'
    yield f"fragment_bytes = {config.fragment_bytes}"
    if config.mode == "time":
        yield 'mode = "time"'
        yield f'period = "{spell_ns(config.period_ns)}"'
        yield f'budget = "{spell_ns(config.budget_ns)}"'


def _guarantee(plan: Plan) -> Iterator[str]:
    """What differs from the defaults: bounds depend on all of it."""
    yield ""
    yield "[guarantee]"
    given, usual = plan.scenario.config.guarantee, Guarantee()
    for field in fields(Guarantee):
        value = getattr(given, field.name)
        if value != getattr(usual, field.name):
            yield _spelled(field.name, value)


def _spelled(name: str, value: object) -> str:
    if isinstance(value, int):
        if name.endswith("_ns"):
            return f'{name.removesuffix("_ns")} = "{spell_ns(value)}"'
        if name.endswith("_bps"):
            return f'{name.removesuffix("_bps")} = "{value}bit/s"'
    return f"{name} = {json.dumps(value, ensure_ascii=False)}"


def _topics(plan: Plan) -> Iterator[str]:
    # A broker numbers its topics in this order, and `smooth` goes by it: the plan goes by names.
    for topic, share in sorted(plan.shares.items()):
        yield ""
        # A JSON text is a TOML text too.
        yield f"[topics.{json.dumps(topic, ensure_ascii=False)}]"
        yield from _share(share)


def _share(share: ShareTerms) -> Iterator[str]:
    for name, value in share_fields(share).items():
        yield _spelled(name, value)
