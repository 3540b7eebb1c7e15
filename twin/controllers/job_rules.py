"""What a Job's rules say of its pods: completion indexes, and the pod failure policy.

Sources: kubernetes/kubernetes pkg/controller/job/indexed_job_utils.go and pod_failure_policy.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from twin.records import Object, PodRecord

INDEX = "batch.kubernetes.io/job-completion-index"
FAILURES = "batch.kubernetes.io/job-index-failure-count"
IGNORED_FAILURES = "batch.kubernetes.io/job-index-ignored-failure-count"
_NO_INDEX = -1


@dataclass(frozen=True, slots=True)
class Ruling:
    """What a rule of the failure policy says of one failed pod."""

    action: str  # FailJob, FailIndex, Ignore or Count
    message: str


def index_of(pod: PodRecord) -> int:
    """Return the completion index of a pod, -1 without one."""
    text = pod.annotations.get(INDEX, "")
    return int(text) if text.isdigit() else _NO_INDEX


def indexes_text(indexes: Iterable[int]) -> str:
    """Return completed indexes as the status shows them: `0-2,5`."""
    runs: list[list[int]] = []
    for index in sorted(indexes):
        if runs and index == runs[-1][1] + 1:
            runs[-1][1] = index
        else:
            runs.append([index, index])
    return ",".join(_run(first, last) for first, last in runs)


def indexes_of(text: str) -> list[int]:
    """Return the indexes that a text such as `0-2,5` names."""
    found: list[int] = []
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def _run(first: int, last: int) -> str:
    if first == last:
        return str(first)
    return f"{first},{last}" if last == first + 1 else f"{first}-{last}"


def missing_indexes(completions: int, taken: Iterable[int], count: int) -> list[int]:
    """Return the lowest `count` indexes that are neither completed nor running."""
    used, missing = frozenset(taken), list[int]()
    for index in range(completions):
        if len(missing) >= count:
            break
        if index not in used:
            missing.append(index)
    return missing


def with_index(spec: Object, job: str, index: int) -> Object:
    """Return a pod spec for one index: its environment variable and host name."""
    variable = {
        "name": "JOB_COMPLETION_INDEX",
        "valueFrom": {"fieldRef": {"fieldPath": f"metadata.labels['{INDEX}']"}},
    }
    containers = [
        container
        if any(entry.get("name") == variable["name"] for entry in container.get("env") or ())
        else {**container, "env": [*(container.get("env") or ()), variable]}
        for container in spec["containers"]
    ]
    return {**spec, "containers": containers, "hostname": f"{job}-{index}"}


def apply_failure_policy(policy: Object | None, pod: PodRecord) -> Ruling:
    """Return what the first matching rule says of a pod that failed; Count without one."""
    for place, rule in enumerate((policy or {}).get("rules") or ()):
        match = _match(rule, pod)
        if match:
            action = str(rule.get("action", "Count"))
            return Ruling(action, f"{match} matching {action} rule at index {place}")
    return Ruling("Count", "")


def _match(rule: Object, pod: PodRecord) -> str:
    for pattern in rule.get("onPodConditions") or ():
        if pattern.get("status", "True") == "True" and _holds(pattern.get("type", ""), pod):
            return f"Pod {pod.namespace}/{pod.name} has condition {pattern['type']}"
    codes = rule.get("onExitCodes")
    if codes and pod.ended is not None and pod.ended.exit_code:
        name = codes.get("containerName") or pod.shape.containers[0]
        listed = pod.ended.exit_code in _values(codes)
        if name in pod.shape.containers and listed == (codes.get("operator", "In") == "In"):
            where = f"pod {pod.namespace}/{pod.name}"
            return f"Container {name} for {where} failed with exit code {pod.ended.exit_code}"
    return ""


def _values(codes: Object) -> Sequence[int]:
    return codes.get("values") or ()


def _holds(condition: str, pod: PodRecord) -> bool:
    return condition == "DisruptionTarget" and bool(pod.disruption)
