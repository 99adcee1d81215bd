"""The published experiments, run again: claims as data, experiments as code, verdicts that are computed.

A paper is a folder `papers/<key>` of the repository. This package is what papers share:

    folder        where the papers are
    sheet, claim  what a paper claims, read from its `claims.toml`, and when a claim reproduces
    experiment    what the code of a paper is made of: experiments, figures, a single run
    parameters    the parameters of a single run, taken from its signature
    running       all experiments of a paper, judged; its files
    results       what came out, as it is kept beside the claims
    drawing       one style for all figures, and tables as CSV
    page          the page with every claim of every paper
"""

from giusto.papers.claim import Claim, Judgement, Value, Verdict, judge
from giusto.papers.experiment import Code, Findings, Size, Table, Trial
from giusto.papers.folder import Paper, find, found
from giusto.papers.parameters import Parameter, case, once
from giusto.papers.results import Outcome
from giusto.papers.running import run
from giusto.papers.sheet import Figure, Sheet

__all__ = [
    "Claim",
    "Code",
    "Figure",
    "Findings",
    "Judgement",
    "Outcome",
    "Paper",
    "Parameter",
    "Sheet",
    "Size",
    "Table",
    "Trial",
    "Value",
    "Verdict",
    "case",
    "find",
    "found",
    "judge",
    "once",
    "run",
]
