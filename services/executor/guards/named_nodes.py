"""named_nodes: a node is written only where the settings name it by its label, and only while every
pod on it belongs to a named namespace; a node serves whoever runs on it.

Pods of DaemonSets and static pods are everywhere, so they do not count.
"""

from __future__ import annotations

from schemas.outcome import GuardCheck
from schemas.reasons import Reason
from services.executor.guards import Guard, Needs, Question, guard_check


def check(question: Question) -> GuardCheck:
    """Fail when a node to be written is not named, or others run on it."""
    scope = question.scope
    written = [node for reach in question.reaches for node in reach.nodes if node.written]
    unnamed = list(dict.fromkeys(node.name for node in written if not scope.has_node(node.labels)))
    others = list(
        dict.fromkeys(
            pod.key
            for reach in question.reaches
            for pod in reach.pods
            if not pod.removed and pod.counts and not scope.has_namespace(pod.namespace)
        )
    )
    text = ""
    if others:
        text = f"{others[0]} of another namespace runs on the node"
    if unnamed:
        writable_text = scope.nodes or "no node is; set executor.writable_nodes"
        text = f"node {unnamed[0]} is not labelled as one to be written ({writable_text})"
    return guard_check(
        "named_nodes",
        passed=not (unnamed or others),
        reason=Reason.NODE_NOT_NAMED,
        measured=len(unnamed) or len(others),
        limit=0,
        unit="nodes" if unnamed or not others else "pods",
        text=text,
    )


GUARDS = (Guard("named_nodes", Needs.REACH, 50, check, each_write=True),)
