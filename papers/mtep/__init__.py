"""S1, MTEP: section 3 in full, over many random topologies."""

from giusto.papers import Code

from . import policies, rates, readings, weights
from .setting import check, once

CODE = Code(
    experiments={
        "policies": policies.measure,
        "rates": rates.measure,
        "weights": weights.measure,
        "readings": readings.measure,
    },
    figures={
        "policies": policies.draw,
        "rates": rates.draw,
        "weights": weights.draw,
        "readings": readings.draw,
    },
    once=once,
    check=check,
)
