"""Verification: does the cluster show what an execution wanted, and did it get worse in the way the
action can cause?
"""

from __future__ import annotations

from schemas.actions import ActionKind
from schemas.model import DataModel
from schemas.outcome import GuardCheck, Mode, Verb, VerificationStatus
from schemas.reasons import Reason
from services.executor.desired_state import DesiredState
from services.executor.ledger import Execution, Ledger
from services.executor.verification.harm import WAITS_FOR_PODS, AffectedPods, harm_checks

GRACE_SECONDS = 300.0
"""Cluster time that new pods have to get a node and become ready, where one may have to be bought first."""


class VerificationResult(DataModel):
    """How an execution turned out."""

    status: VerificationStatus
    checks: tuple[GuardCheck, ...]
    reason: Reason | None = None
    text: str


def due_for_verification(state: Ledger, cycles: int) -> list[Execution]:
    """Return finished, successful executions to be looked at now.

    They are settled `cycles` observations later; one that asks for a number of replicas is looked at from the
    first observation on, since somebody may soon want another number.
    """
    return [
        execution
        for execution in state.executions
        if execution.succeeded
        and not execution.verified
        and not execution.rolled_back
        and state.seen.cycle
        >= execution.cycle + (1 if counts_at_any_observation(execution) else cycles)
    ]


def counts_at_any_observation(execution: Execution) -> bool:
    """Say whether an end that was shown once counts: a number of replicas, whichever write asked for it."""
    return execution.action.kind is ActionKind.REPLICATE


def judge_execution(
    execution: Execution, ends: tuple[DesiredState, ...], state: Ledger, affected: AffectedPods
) -> VerificationResult | None:
    """Judge an execution by its operations' ends and by what it can have harmed.

    Returns:
        None while pods that it made necessary are not ready but have time left.
    """
    if execution.mode is Mode.SHADOW:
        return VerificationResult(
            status=VerificationStatus.UNVERIFIABLE,
            checks=(),
            reason=Reason.SHADOW_MODE,
            text="nothing was written in shadow mode",
        )
    harms = harm_checks(execution, state, affected)
    harm = next((check for check in harms if not check.passed), None)
    age_seconds = state.seen.cluster_time_seconds - execution.time_seconds
    if harm and execution.action.kind in WAITS_FOR_PODS and age_seconds < GRACE_SECONDS:
        return None
    if hands_back(execution):  # then the node goes, and that is what was wanted
        ends = tuple(DesiredState.REACHED if end is DesiredState.GONE else end for end in ends)
    end = _end_check(ends)
    status, reason, text = VerificationStatus.VERIFIED, None, end.text
    if harm is not None:
        status, reason, text = VerificationStatus.WORSE, Reason.WORSE_THAN_BEFORE, harm.text
    elif DesiredState.GONE in ends:
        status, reason = VerificationStatus.GONE, Reason.TARGET_GONE
    elif not end.passed:
        status, reason = VerificationStatus.FAILED, Reason.NOT_OBSERVED
    return VerificationResult(status=status, checks=(end, *harms), reason=reason, text=text)


def hands_back(execution: Execution) -> bool:
    """Say whether an execution ends, or should have ended, the machine under a node."""
    return any(
        one.verb is Verb.RUN or (one.verb is Verb.DELETE and one.resource == "nodeclaims")
        for one in execution.operations
    )


def _end_check(ends: tuple[DesiredState, ...]) -> GuardCheck:
    reached, gone = ends.count(DesiredState.REACHED), ends.count(DesiredState.GONE)
    text = f"{reached} of {len(ends)} operations show their end"
    return GuardCheck(
        guard="end_reached",
        passed=reached == len(ends),
        measured=reached,
        limit=len(ends),
        unit="operations",
        text=f"{text}; what {gone} wrote is gone" if gone else text,
    )
