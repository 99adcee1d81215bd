"""S2, Tempo: the schedules of Fig. 5, the analysis of IV-E, the rate sweep and the isolation experiment."""

from giusto.papers import Code

from . import isolation, polling, rates, response, schedules, waiting

CODE = Code(
    experiments={
        "schedules": schedules.measure,
        "response": response.measure,
        "polling": polling.measure,
        "waiting": waiting.measure,
        "rates": rates.measure,
        "isolation": isolation.measure,
    },
    figures={
        "schedules": schedules.draw,
        "response": response.draw,
        "polling": polling.draw,
        "waiting": waiting.draw,
        "rates": rates.draw,
        "isolation": isolation.draw,
    },
    once=isolation.once,
    check=isolation.check,
)
