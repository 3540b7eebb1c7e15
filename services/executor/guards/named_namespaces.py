"""named_namespaces: only objects in namespaces named exactly are written, and only their pods removed."""

from __future__ import annotations

from collections.abc import Iterator

from schemas.outcome import GuardCheck
from schemas.reasons import Reason
from services.executor.guards import Guard, Needs, Question, found_check
from services.rights.executor import CLUSTER_WIDE, WRITTEN


def check(question: Question) -> GuardCheck:
    """Fail when something to be written, or a pod to be removed, lies outside of the named ones."""
    named = ", ".join(question.scope.namespaces or ()) or "none"
    outside = dict.fromkeys(
        f"{key} is in none of the namespaces to be written ({named})" for key in _outside(question)
    )
    return found_check("named_namespaces", outside, Reason.NAMESPACE_NOT_NAMED, "objects")


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
