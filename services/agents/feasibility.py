"""What cannot be done here is no candidate: the executor has said so, and the observation repeats it. Pure."""

from __future__ import annotations

from dataclasses import replace

from schemas.capabilities import capabilities_text, missing_of
from schemas.reasons import Reason
from schemas.view import ObservationView
from services.agents.appraisal import Appraisal
from services.agents.policy import Judgement, noop


def possible_judgement(judgement: Judgement, view: ObservationView) -> Judgement:
    """Return a judgement, or a noop with its numbers where its action lacks its means."""
    lacking = missing_of(view.missing_means, judgement.action.kind)
    if lacking is None:
        return judgement
    return noop(
        Reason.MEANS_MISSING,
        f"{judgement.text}; {capabilities_text([lacking])}",
        score=judgement.score,
        evidence=judgement.evidence,
        decisive=judgement.decisive,
    )


def possible_appraisal(appraisal: Appraisal, view: ObservationView) -> Appraisal:
    """Return an appraisal without the candidates that lack their means, which its text names."""
    lacking = [
        found
        for one in appraisal.candidates
        if (found := missing_of(view.missing_means, one.action.kind)) is not None
    ]
    if not lacking:
        return appraisal
    named = list(dict.fromkeys(lacking))
    left = tuple(
        one
        for one in appraisal.candidates
        if missing_of(view.missing_means, one.action.kind) is None
    )
    return replace(
        appraisal,
        candidates=left,
        text=f"{appraisal.text}; {len(lacking)} actions {capabilities_text(named)}",
        reason=appraisal.reason if left else Reason.MEANS_MISSING,
    )
