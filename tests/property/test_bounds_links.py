"""What a link carries is through in the time that the book says: against one that is played by message."""

from __future__ import annotations

import random
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from giusto.guarantee.links import LONGEST_NS, Carried
from giusto.guarantee.model import LinkTerms, Setting, Supply
from giusto.guarantee.stream import Stream

US = 1_000
MS = 1_000_000


def drawn(rng: random.Random, number: int) -> tuple[Stream, int]:
    """A flow, and what a message of it is on the wire."""
    supply = Supply(
        client="one",
        topic=f"t{number}",
        count=rng.randint(1, 3),
        period_ns=rng.randint(100 * US, 5 * MS),
        burst=rng.randint(1, 5),
        jitter_ns=rng.choice((0, 0, 50 * US, 3 * MS)),
    )
    return Stream.of(supply, Setting(), (1, 0, 0)), rng.randint(50, 3_000)


def arrivals(rng: random.Random, stream: Stream, jitter_ns: int, until_ns: int) -> list[Fraction]:
    """As early as the flow may send from some moment on, now and then with a pause; and later on the way."""
    supply, found = stream.supply, []
    now = Fraction(rng.choice((0, 0, rng.randint(0, MS))))
    tokens, full = Fraction(stream.passed, supply.period_ns), Fraction(stream.passed, supply.period_ns)
    rate = Fraction(supply.count, supply.period_ns)
    while now < until_ns:
        if tokens >= 1:
            tokens -= 1
            found.append(now)
            continue
        wait = (1 - tokens) / rate + rng.choice((0, 0, 0, rng.randint(0, 2 * MS)))
        now, tokens = now + wait, min(full, tokens + wait * rate)
    # Held up together until one moment, as a broker does that was busy.
    moment = rng.randint(0, until_ns)
    return [max(at, Fraction(moment)) if moment - jitter_ns <= at else at for at in found]


@given(st.integers(0, 2**32))
def test_no_message_is_longer_on_a_link_than_the_book_says(seed: int) -> None:
    rng = random.Random(seed)
    flows = [drawn(rng, number) for number in range(rng.randint(1, 5))]
    jitter_ns, before_bytes = rng.choice((0, 2 * MS)), rng.choice((0, 1_538, 20_000))
    carried = Carried()
    for stream, size_bytes in flows:
        carried.add(stream, size_bytes, jitter_ns, 1)
    bytes_per_s = sum(Fraction(one.supply.count * size * 10**9, one.supply.period_ns) for one, size in flows)
    link = LinkTerms(bits_per_second=int(bytes_per_s * 8 * Fraction(rng.uniform(1, 1.5))) + 1)
    bound_ns = carried.through_ns(link, before_bytes)
    assert bound_ns < LONGEST_NS
    came = sorted((at, size) for one, size in flows for at in arrivals(rng, one, jitter_ns, 30 * MS))
    free = Fraction(before_bytes * 8 * 10**9, link.bits_per_second)
    for at, size in came:
        free = max(free, at) + Fraction(size * 8 * 10**9, link.bits_per_second)
        assert free - at <= bound_ns


@given(st.integers(0, 2**32))
def test_what_is_taken_off_a_link_leaves_no_trace(seed: int) -> None:
    rng = random.Random(seed)
    flows = [drawn(rng, number) for number in range(4)]
    carried = Carried()
    for stream, size_bytes in flows:
        carried.add(stream, size_bytes, MS, 1)
    rng.shuffle(flows)
    for stream, size_bytes in flows:
        carried.add(stream, size_bytes, MS, -1)
    assert (carried.burst, carried.rate) == (0, 0)


def test_a_link_that_is_given_more_than_it_carries_has_no_end() -> None:
    stream = Stream.of(Supply(client="one", topic="t", count=1, period_ns=MS), Setting(), (1, 0, 0))
    carried = Carried()
    carried.add(stream, 125, 0, 1)
    assert carried.through_ns(LinkTerms(bits_per_second=1_000_001), 0) == MS
    assert carried.through_ns(LinkTerms(bits_per_second=999_999), 0) == LONGEST_NS
