"""named_namespaces: only objects in namespaces named exactly are written, and only their pods removed."""

from __future__ import annotations

from collections.abc import Iterator

from schemas.outcome import GuardCheck
from schemas.reasons import Reason
from services.executor.guards import Guard, Needs, Question, guard_check
from services.rights.executor import CLUSTER_WIDE, WRITTEN


def check(question: Question) -> GuardCheck:
    """Fail when something to be written, or a pod to be removed, lies outside of the named ones."""
    outside = list(dict.fromkeys(_outside(question)))
    named = ", ".join(question.scope.namespaces or ()) or "none"
    text = f"{outside[0]} is in none of the namespaces to be written ({named})" if outside else ""
    return guard_check(
        "named_namespaces",
        passed=not outside,
        reason=Reason.NAMESPACE_NOT_NAMED,
        measured=len(outside),
        limit=0,
        unit="objects",
        text=text,
    )


def _outside(question: Question) -> Iterator[str]:
    for reach in question.reaches:
        cluster_wide = reach.resource in CLUSTER_WIDE and not reach.namespace
        known = reach.resource in WRITTEN
        if not known or not (cluster_wide or question.scope.has_namespace(reach.namespace)):
            yield reach.key
        for pod in reach.pods:
            if pod.removed and not question.scope.has_namespace(pod.namespace):
                yield f"pods {pod.key}"


GUARDS = (Guard("named_namespaces", Needs.REACH, 40, check, each_write=True),)
