"""What a run of a paper came to, and how it is kept: `results.json`, with our value beside each claim."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from giusto.errors import InvalidInput
from giusto.papers.claim import Judgement, Published, Size, Verdict, judge
from giusto.papers.sheet import Sheet

FILE = "results.json"


@dataclass(frozen=True, slots=True)
class Outcome:
    """A run of one paper: its verdicts, and the files that it wrote."""

    key: str
    size: Size
    judgements: Sequence[Judgement]
    files: Sequence[Path] = ()
    seconds: float = 0.0

    @property
    def printed(self) -> list[Judgement]:
        """Verdicts on what the paper says."""
        return [each for each in self.judgements if not each.claim.corrects]

    @property
    def corrections(self) -> list[Judgement]:
        """Verdicts on what giusto says instead."""
        return [each for each in self.judgements if each.claim.corrects]

    @property
    def unexplained(self) -> list[Judgement]:
        """What fails without a reason."""
        return [each for each in self.judgements if each.is_unexplained]

    def count(self, verdict: Verdict) -> int:
        """How many claims of the paper have this verdict."""
        return sum(each.verdict is verdict for each in self.printed)


def document(outcome: Outcome) -> dict[str, Any]:
    """The outcome for programs; how long it took is left out, so that equal runs give equal files."""
    return {
        "paper": outcome.key,
        "size": outcome.size.value,
        "claims": [_entry(each) for each in outcome.judgements],
    }


def _entry(judged: Judgement) -> dict[str, Any]:
    claim = judged.claim
    return {
        "id": claim.id,
        "place": claim.place,
        "published": _plain(claim.published),
        "ours": judged.ours,
        "unit": claim.unit,
        "verdict": judged.verdict.value,
        "reason": judged.reason,
        "corrects": claim.corrects,
    }


def _plain(published: Published) -> object:
    return list(published) if isinstance(published, tuple) else published


def keep(outcome: Outcome, folder: Path) -> Path:
    """Write the outcome into a folder."""
    path = folder / FILE
    path.write_text(json.dumps(document(outcome), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def kept(folder: Path, sheet: Sheet) -> Outcome | None:
    """What a folder keeps, judged anew by the claims as they are now; None if it keeps nothing.

    Claims that came later are left out, and so are values whose claim has gone: the next full run settles it.
    """
    path = folder / FILE
    if not path.exists():
        return None
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
        size = Size(read["size"])
        values = {each["id"]: each["ours"] for each in read["claims"] if each["ours"] is not None}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InvalidInput("results", path, f"what `make papers` writes: {error}") from None
    claims = [claim for claim in sheet.claims if claim.id in values or not claim.is_tried(size)]
    known = {claim.id for claim in claims if not claim.outside}
    still = {name: value for name, value in values.items() if name in known}
    return Outcome(folder.name, size, judge(claims, still, size))
