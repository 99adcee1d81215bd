"""Worst-case bounds: what giusto can promise before any traffic flows, in exact arithmetic.

    twrr, smooth, table   input stage in cells and quanta             (T1) - (T5)
    fair                  input stage in virtual time                 (V1), (V2)
    edf                   input stage with real deadlines             (E1) - (E3)
    polling               any of them inside a periodic budget        (Q1)
    ports                 egress ports of switches                    (N1), (N2)
    book                  what a live broker has promised, and whether it can promise more

Every function takes integers, fractions, or anything that `fractions.Fraction` takes exactly, and returns
fractions: a bound is never rounded. The labels are explained in docs/reference/guarantees.md; where a bound
differs from the paper that it comes from, docs/errata.md says why.
"""

from giusto.guarantee import edf, fair, polling, ports, smooth, table, twrr

__all__ = ["edf", "fair", "polling", "ports", "smooth", "table", "twrr"]
