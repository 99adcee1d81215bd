"""Which offers satisfy which needs before any latency is computed, as S3 has it."""

from __future__ import annotations

import pytest

from giusto.contract import Need, Offer
from giusto.contract.matching import Flow, require_match
from giusto.errors import Nearest, Refused


def publisher(**offer: str) -> Flow:
    return Flow("monitor", "alarm", Offer(**offer))


def test_the_example_of_s3() -> None:
    """The publisher sends every 15 ms: A needs 20 ms and is matched, B needs 14 ms and is not."""
    flow = publisher(max_sep="15ms")
    require_match(Need(max_sep="20ms"), flow)
    with pytest.raises(Refused) as refused:
        require_match(Need(max_sep="14ms"), flow)
    assert refused.value.why == "max_sep"
    assert refused.value.nearest == Nearest(count=1, period_ns=15_000_000)
    assert str(refused.value) == (
        "the need is at least one message per 14 ms, but monitor on alarm promises only one message per 15 ms"
    )
    # C needs nothing else than A does: whether it is refused is a matter of its latency.
    require_match(Need(max_sep="20ms", max_latency="1us"), flow)


@pytest.mark.parametrize("need", [Need(max_sep="15ms"), Need(rate="1/15ms"), Need(rate="66/s"), Need()])
def test_what_is_promised_exactly_is_enough(need: Need) -> None:
    require_match(need, publisher(max_sep="15ms"))


@pytest.mark.parametrize(("need", "why"), [(Need(max_sep="1s"), "max_sep"), (Need(rate="1/s"), "rate")])
def test_a_publisher_without_max_sep_satisfies_nobody_who_counts(need: Need, why: str) -> None:
    with pytest.raises(Refused, match="promises no max_sep") as refused:
        require_match(need, publisher(min_sep="10ms"))
    assert (refused.value.why, refused.value.nearest) == (why, None)


def test_a_rate_above_what_is_promised_is_refused_with_the_promised_one() -> None:
    with pytest.raises(Refused) as refused:
        require_match(Need(rate="67/s"), publisher(max_sep="15ms"))
    assert (refused.value.why, refused.value.nearest) == ("rate", Nearest(None, 1, 15_000_000))
