"""Evictions tried as dry runs before a plan is stored: whom the API server would not let go is planned around.

PodDisruptionBudgets are read where they may be, but the server has the last word: it also knows budgets that may not
be read, those that it has not yet counted, and webhooks and policies that deny evictions.
"""

from __future__ import annotations

from collections.abc import Iterable

from schemas.outcome import Operation, Verb
from schemas.reasons import Reason
from services.cluster import ClusterRefused, Transport
from services.executor.facts import Facts
from services.executor.refusals import reason_of
from services.executor.sending import send_operation


async def without_refused_evictions(
    transport: Transport, facts: Facts, operations: Iterable[Operation]
) -> Facts | None:
    """Return facts that say which pods may not go now, for a budget or a rule of admission; None: all of them may.

    Raises:
        ClusterUnavailable: the cluster could not be asked.
    """
    held: set[str] = set()
    denied: dict[str, str] = {}
    for operation in operations:
        refused = await _refusal(transport, operation) if operation.verb is Verb.EVICT else None
        if refused is None:
            continue
        match reason_of(refused):
            case Reason.PDB:
                held.add(operation.uid)
            case Reason.ADMISSION_DENIED:
                denied[operation.uid] = refused.message[:200]
    if not held and not denied:
        return None
    pods = tuple(
        pod.model_copy(update={"disruptions_allowed": 0, "budgets": pod.budgets or (UNREAD,)})
        if pod.uid in held
        else pod.model_copy(update={"denied": denied.get(pod.uid, pod.denied)})
        for pod in facts.pods
    )
    return facts.model_copy(update={"pods": pods})


UNREAD = "(not readable)"
"""What a budget is called that only the server knows."""


async def _refusal(transport: Transport, operation: Operation) -> ClusterRefused | None:
    try:
        await send_operation(transport, operation, dry_run=True)
    except ClusterRefused as error:
        return error
    return None
