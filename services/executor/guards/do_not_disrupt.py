"""do_not_disrupt: whatever is marked so is left alone: the object, a pod that it would remove, their
owners up the chain, their namespaces and their nodes.

Marks are ours, Karpenter's and Cluster Autoscaler's (`services.protection`). On a node to be written
the marks of what runs there count as well.
"""

from __future__ import annotations

from collections.abc import Iterator

from schemas.outcome import GuardCheck
from schemas.reasons import Reason
from services.executor.guards import Guard, Needs, Question, found_check


def check(question: Question) -> GuardCheck:
    """Fail when anything that would be touched is marked."""
    marked = dict.fromkeys(_protected_objects(question))
    return found_check("do_not_disrupt", marked, Reason.PROTECTED, "objects")


def _protected_objects(question: Question) -> Iterator[str]:
    for reach in question.reaches:
        yield from (f"{marked_object.what}: {marked_object.mark}" for marked_object in reach.marked)
        yield from (f"node {node.name}: {node.mark}" for node in reach.nodes if node.mark)
        for pod in reach.pods:
            if pod.counts:
                yield from (
                    f"{marked_object.what} ({pod.key}): {marked_object.mark}"
                    for marked_object in pod.marked
                )


GUARDS = (Guard("do_not_disrupt", Needs.REACH, 30, check, each_write=True),)
