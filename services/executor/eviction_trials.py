"""Evictions tried as dry runs before a plan is stored: whom the API server would not let go is planned around.

PodDisruptionBudgets are read where they may be, but the server has the last word: it also knows budgets that may not
be read, and those that it has not yet counted.
"""

from __future__ import annotations

from collections.abc import Iterable

from schemas.outcome import Operation, Verb
from services.cluster import ClusterRefused, Transport
from services.executor.cluster import DISRUPTION_BUDGET
from services.executor.facts import Facts
from services.executor.sending import send_operation


async def without_refused_evictions(
    transport: Transport, facts: Facts, operations: Iterable[Operation]
) -> Facts | None:
    """Return facts in which a budget holds the pods that may not go now; None: all of them may.

    Raises:
        ClusterUnavailable: the cluster could not be asked.
    """
    kept = set()
    for operation in operations:
        if operation.verb is Verb.EVICT and await _is_held(transport, operation):
            kept.add(operation.uid)
    if not kept:
        return None
    pods = tuple(
        pod.model_copy(update={"disruptions_allowed": 0, "budgets": pod.budgets or (UNREAD,)})
        if pod.uid in kept
        else pod
        for pod in facts.pods
    )
    return facts.model_copy(update={"pods": pods})


UNREAD = "(not readable)"
"""What a budget is called that only the server knows."""


async def _is_held(transport: Transport, operation: Operation) -> bool:
    try:
        await send_operation(transport, operation, dry_run=True)
    except ClusterRefused as error:
        return error.status == 429 and DISRUPTION_BUDGET in error.causes
    return False
