"""What the API server means by a refusal: a right that is missing, a rule of the cluster, or an object that is going.

403 has several meanings. RBAC says who cannot do what; admission (webhooks, policies, quotas, namespaces that are being
deleted) says the same status for what no right would change. A webhook may choose any other status, too.
"""

from __future__ import annotations

from schemas.outcome import OperationResult
from schemas.reasons import Reason
from services.cluster import ClusterRefused
from services.executor.leading import LEASE_LOST
from services.executor.scope import OUT_OF_SCOPE

REASONS = {
    401: Reason.UNAUTHENTICATED,
    403: Reason.FORBIDDEN,
    404: Reason.TARGET_GONE,
    409: Reason.CONFLICT,
    422: Reason.INVALID,
}
"""HTTP status of a refused write to our reason; 403 and 429 have several."""
DISRUPTION_BUDGET = "DisruptionBudget"
"""Cause of a 429 that a budget gives, and not a server with too much to do."""
NAMESPACE_ENDS = "NamespaceTerminating"
"""Cause of a 403 where the namespace is being deleted."""
_RIGHT = ('User "', " cannot ")
"""Words of a 403 that the authorizer gives."""
_WEBHOOK = ("admission webhook ", " denied the request")
_POLICY = ("ValidatingAdmissionPolicy ", " denied request")
_QUOTA = "exceeded quota: "
PLAN_ONLY = "planned only, a dry run needs the right of the write"
"""What is said in shadow mode where this account may write nothing."""


def reason_of(error: ClusterRefused) -> Reason:
    """Return why the API server said no."""
    if error.reason == OUT_OF_SCOPE:
        return Reason.OUT_OF_SCOPE
    if error.reason == LEASE_LOST:
        return Reason.LEASE_LOST
    if error.status == 429:
        return Reason.PDB if DISRUPTION_BUDGET in error.causes else Reason.THROTTLED
    if any(all(word in error.message for word in words) for words in (_WEBHOOK, _POLICY)):
        return Reason.ADMISSION_DENIED
    if error.status == 403 and NAMESPACE_ENDS in error.causes:
        return Reason.TARGET_GONE
    if error.status == 403 and _QUOTA in error.message:
        return Reason.QUOTA_EXHAUSTED
    if error.status == 403 and not lacks_right(error):
        return Reason.ADMISSION_DENIED
    return REASONS.get(error.status, Reason.API_ERROR)


def lacks_right(error: ClusterRefused) -> bool:
    """Say whether the authorizer refused, so that a right would help."""
    return error.status == 403 and all(word in error.message for word in _RIGHT)


def refused_result(error: ClusterRefused) -> OperationResult:
    """Return the result of an operation that the API server refused."""
    reason = reason_of(error)
    return OperationResult(
        status="refused",
        reason=reason,
        http_status=None if reason is Reason.LEASE_LOST else error.status,
        message=error.message[:300],
    )


def planned_only(error: ClusterRefused) -> OperationResult:
    """Return what a dry run is that this account may not try: planned, judged by every guard, and nothing else."""
    return OperationResult(
        status="unchanged",
        reason=Reason.FORBIDDEN,
        http_status=error.status,
        message=f"{PLAN_ONLY}: {error.message}"[:300],
    )
