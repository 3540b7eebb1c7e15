"""What a cluster needs for queues: namespaces, Kueue's objects and the least rights. Pure.

One ClusterRole and one binding for reading, however many namespaces there are; whatever writes is bound in each
namespace on its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from inputs.quantities import cpu_text, memory_text
from lab.queue.objects import GROUP
from services.rights import Right, RightScope

Manifest = Mapping[str, Any]
Strategy = Literal["StrictFIFO", "BestEffortFIFO"]
MANAGED_BY = "app.kubernetes.io/managed-by"
OWNER = "foresail-queue"
"""Value of that label, and the name of the account, the role and its bindings."""
PRIORITIES = range(11)
"""Of Jobs, as the predecessors' observation knows them; each has a WorkloadPriorityClass."""
FLAVOR, CLUSTER_QUEUE, LOCAL_QUEUE = "machines", "cluster", "jobs"
"""The LocalQueue is not called `default`: Kueue would put Jobs into it that want no queue, too."""
HELD_QUEUE = "held"
"""LocalQueue that admits nobody (`stopPolicy: Hold`): Jobs wait there for whoever decides, who moves them to
the other one by their label. So no Job slips past the decision, and quota is Kueue's business as ever."""
RBAC = "rbac.authorization.k8s.io"

READS: tuple[Right, ...] = (
    Right("list", "jobs", "batch", why="their rows"),
    Right("list", "pods", why="which Jobs run, and what was killed"),
    Right("list", "nodes", why="what there is"),
    Right("list", "nodes", "metrics.k8s.io", why="what is used"),
    Right("list", "workloads", GROUP, why="who was admitted, and when"),
    Right("get", "clusterqueues", GROUP, why="how much quota there is"),
    Right("get", "localqueues", GROUP, why="whose quota that is"),
)
"""Of `collect`, `monitor` and `inference`."""
WRITES: tuple[Right, ...] = (
    Right("create", "jobs", "batch", RightScope.NAMED, "`collect` submits a workload"),
    Right("delete", "jobs", "batch", RightScope.NAMED, "and takes it away again"),
    Right("patch", "jobs", "batch", RightScope.NAMED, "`inference` moves one from queue to queue"),
    Right("patch", "workloads", GROUP, RightScope.NAMED, "or lets it go first, or holds it back"),
)
"""In the namespaces that were named, and nowhere else."""


@dataclass(frozen=True, slots=True)
class QueueSetup:
    """What is asked for."""

    namespaces: Sequence[str]
    cpu_millicores: int
    """Quota."""
    memory_bytes: int
    strategy: Strategy = "BestEffortFIFO"
    version: str = "v1beta2"
    """Of Kueue's API."""


def manifests(setup: QueueSetup) -> Iterator[Manifest]:
    """Yield every object, in an order in which each finds what it needs."""
    for namespace in setup.namespaces:
        yield _object("v1", "Namespace", namespace)
    yield _kueue(setup, "ResourceFlavor", FLAVOR, spec={})
    yield _kueue(setup, "ClusterQueue", CLUSTER_QUEUE, spec=_cluster_queue(setup))
    for priority in PRIORITIES:
        yield _kueue(setup, "WorkloadPriorityClass", priority_class(priority), value=priority)
    for namespace in setup.namespaces:
        spec = {"clusterQueue": CLUSTER_QUEUE}
        yield _kueue(setup, "LocalQueue", LOCAL_QUEUE, namespace, spec=spec)
        held = {**spec, "stopPolicy": "Hold"}
        yield _kueue(setup, "LocalQueue", HELD_QUEUE, namespace, spec=held)
    home = setup.namespaces[0]
    yield _object("v1", "ServiceAccount", OWNER, home)
    yield _object(f"{RBAC}/v1", "ClusterRole", f"{OWNER}-reader", rules=_rules(READS))
    yield _binding("ClusterRole", f"{OWNER}-reader", home)
    for namespace in setup.namespaces:
        yield _object(f"{RBAC}/v1", "Role", f"{OWNER}-writer", namespace, rules=_rules(WRITES))
        yield _binding("Role", f"{OWNER}-writer", home, namespace)


def priority_class(priority: int) -> str:
    """Return the name of the class of a Job's priority, which is brought into the range that there is."""
    return f"{OWNER}-{min(max(priority, PRIORITIES[0]), PRIORITIES[-1])}"


def _cluster_queue(setup: QueueSetup) -> Manifest:
    quotas = {"cpu": cpu_text(setup.cpu_millicores), "memory": memory_text(setup.memory_bytes)}
    rows = [{"name": name, "nominalQuota": quota} for name, quota in quotas.items()]
    group = {"coveredResources": list(quotas), "flavors": [{"name": FLAVOR, "resources": rows}]}
    return {
        "namespaceSelector": {},
        "queueingStrategy": setup.strategy,
        "resourceGroups": [group],
    }


def _object(
    version: str, kind: str, name: str, namespace: str | None = None, **content: Any
) -> Manifest:
    metadata: dict[str, Any] = {"name": name, "labels": {MANAGED_BY: OWNER}}
    if namespace is not None:
        metadata["namespace"] = namespace
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **content}


def _kueue(
    setup: QueueSetup, kind: str, name: str, namespace: str | None = None, **content: Any
) -> Manifest:
    return _object(f"{GROUP}/{setup.version}", kind, name, namespace, **content)


def _rules(rights: Sequence[Right]) -> list[Manifest]:
    """Return a rule for each resource of a group, with all verbs that are needed."""
    verbs: dict[tuple[str, str], list[str]] = {}
    for right in rights:
        verbs.setdefault((right.group, right.resource), []).append(right.verb)
    return [
        {"apiGroups": [group], "resources": [resource], "verbs": found}
        for (group, resource), found in verbs.items()
    ]


def _binding(role_kind: str, role: str, home: str, namespace: str | None = None) -> Manifest:
    return _object(
        f"{RBAC}/v1",
        f"{role_kind}Binding",
        role,
        namespace,
        roleRef={"apiGroup": RBAC, "kind": role_kind, "name": role},
        subjects=[{"kind": "ServiceAccount", "name": OWNER, "namespace": home}],
    )
