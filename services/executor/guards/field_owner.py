"""field_owner: a field that somebody applies (Server-Side Apply) is theirs; we neither force nor take it.

An owner that applies again would find a conflict where it expects its own value.
"""

from __future__ import annotations

from schemas.outcome import GuardCheck
from schemas.reasons import Reason
from services.executor.guards import Guard, Needs, Question, guard_check


def check(question: Question) -> GuardCheck:
    """Fail when a field to be written is applied by somebody else."""
    owned = [
        f"{applied.manager} applies {applied.field} of {reach.key}"
        for reach in question.reaches
        for applied in reach.applied
    ]
    return guard_check(
        "field_owner",
        passed=not owned,
        reason=Reason.FIELD_OWNED,
        measured=len(owned),
        limit=0,
        unit="fields",
        text=owned[0] if owned else "",
    )


GUARDS = (Guard("field_owner", Needs.REACH, 60, check, each_write=True),)
