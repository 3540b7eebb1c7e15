"""How often foresight was right in a span of a log, and what it was worth."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from statistics import median
from typing import Any

from projections.figures import number, signed_text
from projections.foresight.log import Settled
from schemas.wording import count_text


class Verdict(StrEnum):
    """What became of a rise that replicas were asked for."""

    AHEAD = "ahead"
    """It came, after they had been asked for."""
    LATE = "late"
    """It had come before."""
    NONE = "none"
    """It did not come until it was due."""
    OPEN = "open"
    """The log ends before it is due."""


def verdict_on(one: Settled, last_seconds: float) -> Verdict:
    """Return what became of the rise, in a log that ends at `last_seconds` (cluster time)."""
    lead = one.outcome.lead_seconds(one.rise)
    if lead is not None:
        return Verdict.AHEAD if lead > 0.0 else Verdict.LATE
    return Verdict.NONE if last_seconds >= one.rise.due_seconds else Verdict.OPEN


@dataclass(frozen=True, slots=True)
class ForesightTotals:
    """Rises for which replicas were asked for because of a forecast."""

    actions: int
    """How often."""
    verdicts: tuple[Verdict, ...]
    leads_seconds: tuple[float, ...]
    """Of those that came after replicas had been asked for, from the first decision."""
    failed: float
    """Requests of their Services that failed until the rise was due, here,"""
    untouched_failed: float | None
    """and in the untouched world; None where some have none beside them."""
    worth: float | None
    """Money against the untouched world; None where it is not known of some."""
    currency: str
    shadow: bool
    """Whether nothing was written."""

    def as_json(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        return {
            "acted": self.actions,
            "rises": len(self.verdicts),
            **{str(one): self.verdicts.count(one) for one in Verdict},
            "median_lead_seconds": median(self.leads_seconds) if self.leads_seconds else None,
            "failed": self.failed,
            "untouched_failed": self.untouched_failed,
            "worth": self.worth,
            "currency": self.currency,
        }


def totals_of(found: Iterable[tuple[Settled, float]]) -> ForesightTotals | None:
    """Return the totals of what was carried out, each with the cluster time at which its log ends; None without any."""
    done = [(one, last) for one, last in found if one.rise.carried_out]
    if not done:
        return None
    settled = [one for one, _ in done]
    theirs = [one.outcome.there for one in settled]
    worths = [one.outcome.worth for one in settled]
    leads = (one.outcome.lead_seconds(one.rise) for one in settled)
    return ForesightTotals(
        actions=sum(one.rise.carried_out for one in settled),
        verdicts=tuple(verdict_on(one, last) for one, last in done),
        leads_seconds=tuple(lead for lead in leads if lead is not None and lead > 0.0),
        failed=math.fsum(one.outcome.here.failed for one in settled),
        untouched_failed=None
        if None in theirs
        else math.fsum(world.failed for world in theirs if world is not None),
        worth=None if None in worths else math.fsum(w for w in worths if w is not None),
        currency=settled[-1].rise.first.currency,
        shadow=all(one.rise.shadow for one in settled),
    )


def totals_sentence(totals: ForesightTotals, value: float | None = None) -> str:
    """Return how often foresight was right, and what it was worth; `value` against judging without it, where known."""
    count = totals.verdicts.count
    acted = "would have acted" if totals.shadow else "acted"
    ahead = f"{count(Verdict.AHEAD):,} of them came"
    if totals.leads_seconds:
        ahead += f", a median {number(median(totals.leads_seconds) / 60.0)} min after it had acted"
    others = [
        f"{count(verdict):,} {words}"
        for verdict, words in (
            (Verdict.LATE, "had come before"),
            (Verdict.NONE, "did not come"),
            (Verdict.OPEN, "not due yet"),
        )
        if count(verdict)
    ]
    more = f" ({', '.join(others)})" if others else ""
    money = "" if value is None else signed_text(value)
    without = f"; worth {money} {totals.currency} against judging without it" if money else ""
    return (
        f"Foresight {acted} {count_text(totals.actions, 'time')}, before {count_text(len(totals.verdicts), 'rise')}: "
        f"{ahead}{more}; {_worth_text(totals)}{without}."
    )


def _worth_text(totals: ForesightTotals) -> str:
    if totals.untouched_failed is None:
        return "what that was worth is not known, as no untouched world was recorded"
    spared = totals.untouched_failed - totals.failed
    less = f"{number(abs(spared))} {'fewer' if spared >= 0 else 'more'} requests failed"
    money = "" if totals.worth is None else f" ({signed_text(totals.worth)} {totals.currency})"
    return f"{less} than in the world without us{money}"
