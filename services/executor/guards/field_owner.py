"""field_owner: a field that somebody applies (Server-Side Apply) is theirs; we neither force nor take it.

An owner that applies again would find a conflict where it expects its own value.
"""

from __future__ import annotations

from schemas.outcome import GuardCheck
from schemas.reasons import Reason
from services.executor.guards import Guard, Needs, Question, found_check


def check(question: Question) -> GuardCheck:
    """Fail when a field to be written is applied by somebody else."""
    owned = [
        f"{applied.manager} applies {applied.field} of {reach.key}"
        for reach in question.reaches
        for applied in reach.applied
    ]
    return found_check("field_owner", owned, Reason.FIELD_OWNED, "fields")


GUARDS = (Guard("field_owner", Needs.REACH, 60, check, each_write=True),)
