"""S0, TWR²R²: who publishes what in section VII, Fig. 9, Fig. 10 and Table I, and what (15) is worth."""

from giusto.papers import Code

from . import bounds, formulas, media, seconds, shares

CODE = Code(
    experiments={
        "shares": shares.measure,
        "seconds": seconds.measure,
        "media": media.measure,
        "bounds": bounds.measure,
        "formulas": formulas.measure,
    },
    figures={
        "shares": shares.draw,
        "seconds": seconds.draw,
        "media": media.draw,
        "bounds": bounds.draw,
        "formulas": formulas.draw,
    },
    once=seconds.once,
    check=seconds.check,
)
