"""Applies one operation with its preconditions (UID, resourceVersion) and says what the API server answered.

In shadow mode every write carries dryRun=All and nothing else differs.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable

from schemas.outcome import Operation, OperationResult, Verb
from schemas.reasons import Reason
from services.cluster import ClusterRefused, ClusterUnavailable, Transport
from services.executor.desired_state import has_reached_end, shows_patch
from services.executor.reading.objects import read_object
from services.executor.writing.sending import send_operation

REASONS = {
    401: Reason.UNAUTHENTICATED,
    403: Reason.FORBIDDEN,
    404: Reason.TARGET_GONE,
    409: Reason.CONFLICT,
    422: Reason.INVALID,
}
"""HTTP status of a refused write to our reason; 429 has two."""
DISRUPTION_BUDGET = "DisruptionBudget"
"""Cause of a 429 that a budget gives, and not a server with too much to do."""


async def apply_operation(
    transport: Transport,
    operation: Operation,
    *,
    dry_run: bool,
    check_guards: Callable[[], Awaitable[OperationResult | None]],
) -> OperationResult:
    """Apply one operation and return what became of it; never raises for an answer of the API
    server.

    A conflict is re-validated once: an object that shows the end already is left alone, one that is
    still as it was planned for is written at its new version, anything else is refused. `check_guards`
    returns the refusal of a guard, or None; it is asked before every single write.
    """
    try:
        refusal = await check_guards()
        return refusal or await _send_operation(transport, operation, dry_run=dry_run)
    except ClusterRefused as error:
        if not _needs_reread(operation, error):
            return _refused_result(error)
        refused = error
    except ClusterUnavailable as error:
        return _failed_result(error)
    try:
        again = await _revalidate(transport, operation, refused)
        if isinstance(again, OperationResult):
            return again
        refusal = await check_guards()
        return refusal or await _send_operation(transport, again, dry_run=dry_run)
    except ClusterRefused as error:
        return _refused_result(error)
    except ClusterUnavailable as error:
        return _failed_result(error)


def _needs_reread(operation: Operation, error: ClusterRefused) -> bool:
    """Whether the object may be gone, changed, or another one of its name: a patch that names another
    object's uid is invalid (422) to the API server, and no conflict.
    """
    return error.status in {404, 409} or (
        error.status == 422 and operation.verb in {Verb.PATCH, Verb.RESIZE}
    )


async def _send_operation(
    transport: Transport, operation: Operation, *, dry_run: bool
) -> OperationResult:
    answer = await send_operation(transport, operation, dry_run=dry_run)
    if answer is None:
        return OperationResult(status="unchanged")
    metadata = json.loads(answer.body or b"{}").get("metadata") or {}
    version = str(metadata.get("resourceVersion", ""))
    unchanged = (
        bool(operation.resource_version) and version == operation.resource_version and not dry_run
    )
    return OperationResult(
        status="unchanged" if unchanged else "applied",
        http_status=answer.status,
        resource_version=version,
    )


async def _revalidate(
    transport: Transport, operation: Operation, error: ClusterRefused
) -> OperationResult | Operation:
    """Return what became of an operation that met a conflict, or the operation to send again."""
    current = await read_object(transport, operation)
    if error.status == 422 and (current is None or current["metadata"].get("uid") == operation.uid):
        return _refused_result(error)
    if has_reached_end(operation, current):
        return OperationResult(
            status="unchanged", http_status=error.status, message=error.message[:300]
        )
    if current is None or operation.verb in {Verb.EVICT, Verb.DELETE}:
        return _refused_result(error)
    metadata = current["metadata"]
    as_planned = operation.undo and shows_patch(operation, current, operation.undo)
    if metadata.get("uid") != operation.uid or not as_planned:
        return OperationResult(
            status="refused",
            reason=Reason.TARGET_CHANGED,
            http_status=error.status,
            message="it changed since it was judged",
        )
    return operation.model_copy(update={"resource_version": str(metadata["resourceVersion"])})


def _refused_result(error: ClusterRefused) -> OperationResult:
    reason = REASONS.get(error.status, Reason.API_ERROR)
    if error.status == 429:
        reason = Reason.PDB if DISRUPTION_BUDGET in error.causes else Reason.THROTTLED
    return OperationResult(
        status="refused",
        reason=reason,
        http_status=error.status,
        message=error.message[:300],
    )


def _failed_result(error: ClusterUnavailable) -> OperationResult:
    return OperationResult(status="failed", reason=Reason.API_UNREACHABLE, message=str(error)[:300])
