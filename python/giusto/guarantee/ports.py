"""Egress ports of switches: how long frames wait there, who gets which level, and who may come in.

The formulas of S3 survive only as a reconstruction; what giusto uses is the corrected form:
blocking by lower levels, flows that share a level, bursts as large as a limiter lets through,
and jitter that adds up along a path. `Flow` and its limiter are in `flow`, the waits in `queueing`, the
levels in `levels`, paths through several ports in `path`.
"""

from giusto.guarantee.flow import Flow, Limiter, limited, limiter
from giusto.guarantee.levels import Assigned, Move, Unassigned, Unsafe, assign_levels, reconfiguration
from giusto.guarantee.path import Admitted, Denied, Hop, Port, Request, fixed_latency, path_admission
from giusto.guarantee.queueing import message_queueing, queueing, refined_queueing

__all__ = [
    "Admitted",
    "Assigned",
    "Denied",
    "Flow",
    "Hop",
    "Limiter",
    "Move",
    "Port",
    "Request",
    "Unassigned",
    "Unsafe",
    "assign_levels",
    "fixed_latency",
    "limited",
    "limiter",
    "message_queueing",
    "path_admission",
    "queueing",
    "reconfiguration",
    "refined_queueing",
]
