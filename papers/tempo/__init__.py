"""S2, Tempo: the schedules of Fig. 5."""

from giusto.papers import Code

from . import schedules

CODE = Code(experiments={"schedules": schedules.measure}, figures={"schedules": schedules.draw})
