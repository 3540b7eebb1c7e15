"""What a Job's pods come to: which of them count, which indexes succeeded or failed, and how long it waits.

A pod counts once. Its tracking finalizer says that it has not been counted yet, and is taken away when it has; what is
gone stands in the status. Pure functions of pods and status. Source: kubernetes/kubernetes
pkg/controller/job/{job_controller,indexed_job_utils,backoff_utils}.go.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from twin.controllers.job_rules import (
    FAILURES,
    IGNORED_FAILURES,
    Ruling,
    apply_failure_policy,
    index_of,
    indexes_of,
)
from twin.records import Object, PodRecord

TRACKING = "batch.kubernetes.io/job-tracking"


@dataclass(slots=True)
class Tally:
    """The pods of a Job at one look, those included that are gone."""

    active: list[PodRecord] = field(default_factory=list)
    terminating: list[PodRecord] = field(default_factory=list)
    new_succeeded: list[PodRecord] = field(default_factory=list)
    """Pods that are counted now."""
    new_failed: list[PodRecord] = field(default_factory=list)
    counted: list[PodRecord] = field(default_factory=list)
    """Pods whose finalizer goes, whether or not they count."""
    delayed: dict[int, PodRecord] = field(default_factory=dict)
    """The last failed pod of each index that is tried again; it waits for its successor."""
    succeeded: int = 0
    failed: int = 0
    indexes: frozenset[int] = frozenset()
    failed_indexes: frozenset[int] = frozenset()
    fatal: str = ""
    """What a FailJob rule says."""


def is_indexed(spec: Object) -> bool:
    """True for a Job with one completion for each index."""
    return bool(spec.get("completionMode") == "Indexed")


def replaces_failed_only(spec: Object) -> bool:
    """True when a pod that is being deleted is replaced only once it has failed."""
    policy = spec.get("podReplacementPolicy")
    if policy is None:
        return spec.get("podFailurePolicy") is not None
    return bool(policy == "Failed")


def has_failed(spec: Object, pod: PodRecord) -> bool:
    """True when a pod is to be counted, and replaced, as one that failed."""
    if pod.phase == "Failed":
        return True
    leaves = pod.deletion_at is not None and pod.phase != "Succeeded"
    return leaves and not replaces_failed_only(spec)


def tally_of(spec: Object, status: Object, pods: Iterable[PodRecord]) -> Tally:
    """Return what the pods of a Job come to, those of its status included."""
    tally = Tally()
    indexed, limit = is_indexed(spec), spec.get("backoffLimitPerIndex")
    done = set(indexes_of(status.get("completedIndexes", "")))
    lost = set(indexes_of(status.get("failedIndexes", "")))
    for pod in pods:
        fresh, index = TRACKING in pod.finalizers, index_of(pod)
        if pod.phase == "Succeeded":
            if fresh and not (indexed and index in done):
                tally.new_succeeded.append(pod)
                done.add(index)
            tally.counted += [pod] if fresh else []
            continue
        if not pod.terminal:
            (tally.active if pod.deletion_at is None else tally.terminating).append(pod)
        if not has_failed(spec, pod):
            continue
        ruling = apply_failure_policy(spec.get("podFailurePolicy"), pod)
        tally.fatal = tally.fatal or (ruling.message if ruling.action == "FailJob" else "")
        if fresh:
            tally.new_failed += [pod] if ruling.action != "Ignore" else []
            if limit is not None and _index_failed(pod, ruling, limit):
                lost.add(index)
            tally.counted.append(pod)
    tally.indexes = frozenset(i for i in done if 0 <= i < (spec.get("completions") or 0))
    tally.failed_indexes = frozenset(lost)
    tally.failed = int(status.get("failed", 0)) + len(tally.new_failed)
    counted = int(status.get("succeeded", 0)) + len(tally.new_succeeded)
    tally.succeeded = len(tally.indexes) if indexed else counted
    if limit is not None:
        _keep_for_successors(tally)
    return tally


def _index_failed(pod: PodRecord, ruling: Ruling, limit: int) -> bool:
    if ruling.action == "FailIndex":
        return True
    return ruling.action != "Ignore" and failures_of(pod) >= limit


def _keep_for_successors(tally: Tally) -> None:
    """Let the last failed pod of an index that is tried again stay uncounted until it has a successor."""
    replaced = {index_of(pod): failures_of(pod) + ignored_of(pod) for pod in tally.active}
    for pod in tally.counted:
        index = index_of(pod)
        if pod.phase == "Succeeded" or index in tally.failed_indexes or index in tally.indexes:
            continue
        count, known = failures_of(pod) + ignored_of(pod), tally.delayed.get(index)
        if index in replaced and count < replaced[index]:
            continue
        if known is None or count > failures_of(known) + ignored_of(known):
            tally.delayed[index] = pod
    kept = {pod.uid for pod in tally.delayed.values()}
    tally.counted = [pod for pod in tally.counted if pod.uid not in kept]


def failures_of(pod: PodRecord) -> int:
    """Return how often the index of a pod failed before it."""
    return _number(pod, FAILURES)


def ignored_of(pod: PodRecord) -> int:
    """Return how many failures of its index the policy ignored."""
    return _number(pod, IGNORED_FAILURES)


def successor_notes(spec: Object, before: PodRecord | None) -> dict[str, str]:
    """Return the annotations of the next pod of an index, by the failed one before it."""
    failed = ignored = 0
    if before is not None:
        failed, ignored = failures_of(before), ignored_of(before)
        if apply_failure_policy(spec.get("podFailurePolicy"), before).action == "Ignore":
            ignored += 1
        else:
            failed += 1
    notes = {FAILURES: str(failed)}
    return {**notes, IGNORED_FAILURES: str(ignored)} if ignored else notes


def matched_rule(spec: Object, indexes: frozenset[int]) -> str:
    """Return what the success policy says of succeeded indexes; empty while no rule is met."""
    for place, rule in enumerate((spec.get("successPolicy") or {}).get("rules") or ()):
        text, count = rule.get("succeededIndexes"), rule.get("succeededCount")
        asked = indexes if text is None else indexes & frozenset(indexes_of(text))
        needed = count if count is not None else len(frozenset(indexes_of(text or "")))
        if len(asked) >= needed:
            return f"Matched rules at index {place}"
    return ""


def restarts_of(tally: Tally) -> int:
    """Return how often containers of the active pods were restarted."""
    return sum(pod.restart_count for pod in tally.active)


def _number(pod: PodRecord, note: str) -> int:
    text = pod.annotations.get(note, "0")
    return int(text) if text.isdigit() else 0
