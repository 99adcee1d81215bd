"""What publishers offer, what subscriptions need, and what the bus made of it.

An `Offer` and a `Need` take durations as people write them (`"20ms"`, `0.02`, a `timedelta`) and keep whole
nanoseconds. They are frozen, compare by what they mean and print as sentences.
"""

from giusto.contract.duration import Duration, Rate, duration_ns, rate_terms, show_ns, show_rate
from giusto.contract.explanation import Explanation
from giusto.contract.need import Need
from giusto.contract.offer import Offer
from giusto.contract.verdict import Granted, Part, Unproved, Verdict, verdict

__all__ = [
    "Duration",
    "Explanation",
    "Granted",
    "Need",
    "Offer",
    "Part",
    "Rate",
    "Unproved",
    "Verdict",
    "duration_ns",
    "rate_terms",
    "show_ns",
    "show_rate",
    "verdict",
]
