"""approval: where a person approves, one wish of a kind on a target is asked at a time."""

from __future__ import annotations

from schemas.actions import ActionKind
from schemas.outcome import GuardCheck
from schemas.reasons import Reason
from services.executor.guard_discovery import Guard, Stage
from services.executor.pending import MOST_WAITING
from services.executor.question import Question, guard_check


def check(question: Question) -> GuardCheck | None:
    """Fail while an earlier decision of this kind on this target waits, or too many wait at all."""
    due, waiting = question.due, question.state.waiting
    if not question.settings.approval or due.action.kind is ActionKind.NOOP:
        return None
    if any(one.place == due.place for one in waiting):
        return None  # it is one of them, answered by now
    wish = due.action.kind, due.action.target
    same = next((one for one in waiting if (one.action.kind, one.action.target) == wish), None)
    text = "" if same is None else f"cycle {same.name} waits for `foresail approve {same.name}`"
    if not text and len(waiting) >= MOST_WAITING:
        text = "too many wait for an approval"
    return guard_check(
        "approval",
        passed=not text,
        reason=Reason.AWAITING_APPROVAL,
        measured=len(waiting),
        limit=MOST_WAITING,
        unit="waiting",
        text=text,
    )


GUARDS = (Guard("approval", Stage.BEFORE_READING, 35, check),)
