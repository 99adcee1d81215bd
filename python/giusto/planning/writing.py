"""The broker configuration that a plan amounts to, as TOML."""

from __future__ import annotations

import json
from collections.abc import Iterator

from giusto.contract.duration import spell_ns
from giusto.planning.plain import share_fields
from giusto.planning.result import Plan
from giusto.protocol import ShareTerms


def configuration(plan: Plan) -> str:
    """What `giusto broker --config` reads."""
    return "\n".join([*_head(plan), *_broker(plan), *_topics(plan), ""])


def _head(plan: Plan) -> Iterator[str]:
    yield f"# Written by `giusto plan`: {plan.headline}."
    for failure in plan.failures:
        yield f"# Not held: {failure.need}, {failure.client} on {failure.pattern}."
    yield ""


def _broker(plan: Plan) -> Iterator[str]:
    setting = plan.scenario.setting
    yield "[broker]"
    yield f'input = "{plan.input}"'
    yield f"fragment_bytes = {setting.fragment_bytes}"
    if setting.period_ns:
        yield 'mode = "time"'
        yield f'period = "{spell_ns(setting.period_ns)}"'
        yield f'budget = "{spell_ns(setting.budget_ns)}"'


def _topics(plan: Plan) -> Iterator[str]:
    for topic, share in plan.shares.items():
        yield ""
        # A JSON text is a TOML text too.
        yield f"[topics.{json.dumps(topic, ensure_ascii=False)}]"
        yield from _share(share)


def _share(share: ShareTerms) -> Iterator[str]:
    for name, value in share_fields(share).items():
        if name.endswith("_ns"):
            yield f'{name.removesuffix("_ns")} = "{spell_ns(value)}"'
        else:
            yield f"{name} = {value}"
