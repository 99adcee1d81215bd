"""The steward: a client of the broker, in the broker's process, that keeps and serves what readers ask for.

    steward     which duties a configuration asks for, and when they begin and end
    causes      why messages did not come to a keeper
    keeper      retained topics: what is published goes to a log
    handover    what it has read and not yet written, within bounds
    desk        answers questions about logs: which one, how far, which rows
    sink        takes in what Spark stages, and publishes what it committed, once
    models      hands models of what was measured to the broker
    claim       whose the folder is
    records     hands out the files of a trace folder
    beside      and what is beside them: manifests and facts

The broker's data path knows nothing of it: to the broker it is one more subscriber.
"""

from giusto.steward.duty import Duty
from giusto.steward.steward import Steward, attend

__all__ = ["Duty", "Steward", "attend"]
