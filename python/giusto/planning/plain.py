"""How a plan looks to a program: dictionaries, lists, texts and numbers."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from giusto.planning.result import Failure, Plan
    from giusto.protocol import ShareTerms

SHARE_FIELDS = ("weight", "rate", "virtual_deadline", "period_ns", "deadline_ns")


def as_plain(plan: Plan) -> dict[str, Any]:
    """All of a plan but its scenario."""
    return {
        "input": plan.input,
        "holds": plan.holds,
        "utilisation": plan.utilisation,
        "worst_slack_ns": plan.worst_slack_ns,
        "claim": plan.claim,
        "basis": plan.basis,
        "contracts": [{**asdict(each), "slack_ns": each.slack_ns} for each in plan.contracts],
        "failures": [_failure(each) for each in plan.failures],
        "shares": {topic: share_fields(share) for topic, share in plan.shares.items()},
        "comparison": [asdict(each) for each in plan.comparison],
    }


def share_fields(share: ShareTerms) -> dict[str, int]:
    """What a share says, by field."""
    return {name: value for name in SHARE_FIELDS if (value := getattr(share, name)) is not None}


def _failure(failure: Failure) -> dict[str, Any]:
    nearest = None if failure.nearest is None else failure.nearest._asdict()
    return {**asdict(failure), "nearest": nearest}
