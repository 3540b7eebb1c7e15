"""The FlowSchemas and priority levels of a new cluster.

Source: kubernetes/kubernetes staging/src/k8s.io/apiserver pkg/apis/flowcontrol/bootstrap/default.go at 1.36, and
pkg/util/flowcontrol for the condition.
"""

from __future__ import annotations

from typing import Any

from twin.records import Object
from twin.store import Store
from twin.timestamps import rfc3339

_KEPT = {"apf.kubernetes.io/autoupdate-spec": "true"}
_LEVELS: dict[str, tuple[int, int, tuple[int, int] | None]] = {
    "leader-election": (10, 0, (16, 4)),
    "node-high": (40, 25, (64, 6)),
    "system": (30, 33, (64, 6)),
    "workload-high": (40, 50, (128, 6)),
    "workload-low": (100, 90, (128, 6)),
    "global-default": (20, 50, (128, 6)),
    "catch-all": (5, 0, None),
}
"""Shares, percent that others may have, and queues with the size of a hand; None: nothing waits."""
_QUEUE_LENGTH = 50
_ALL = (
    {"apiGroups": ["*"], "clusterScope": True, "namespaces": ["*"], "resources": ["*"], "verbs": ["*"]},
)  # fmt: skip
_EVERY_PATH = ({"nonResourceURLs": ["*"], "verbs": ["*"]},)
_PROBES = ({"nonResourceURLs": ["/healthz", "/readyz", "/livez"], "verbs": ["get"]},)
_LEASES = {"apiGroups": ["coordination.k8s.io"], "namespaces": ["*"], "resources": ["leases"]}
_OF_NODES = (
    {
        "apiGroups": [""],
        "clusterScope": True,
        "namespaces": ["*"],
        "resources": ["nodes", "nodes/status"],
        "verbs": ["*"],
    },
    {**_LEASES, "verbs": ["*"]},
)
_ELECTION = ({**_LEASES, "verbs": ["get", "create", "update"]},)
_MANAGER = "User system:kube-controller-manager"
_SCHEDULER = "User system:kube-scheduler"
_SYSTEM_ACCOUNTS = "ServiceAccount kube-system/*"
_ELECTING = (_MANAGER, _SCHEDULER, _SYSTEM_ACCOUNTS)
_ANYBODY = ("Group system:unauthenticated", "Group system:authenticated")
_SCHEMAS: tuple[tuple[str, str, int, str, tuple[str, ...], Any, Any], ...] = (
    ("exempt", "exempt", 1, "", ("Group system:masters",), _ALL, _EVERY_PATH),
    ("probes", "exempt", 2, "", _ANYBODY, (), _PROBES),
    ("system-leader-election", "leader-election", 100, "ByUser", _ELECTING, _ELECTION, ()),
    ("system-node-high", "node-high", 400, "ByUser", ("Group system:nodes",), _OF_NODES, ()),
    ("system-nodes", "system", 500, "ByUser", ("Group system:nodes",), _ALL, _EVERY_PATH),
    ("kube-controller-manager", "workload-high", 800, "ByNamespace", (_MANAGER,), _ALL, _EVERY_PATH),
    ("kube-scheduler", "workload-high", 800, "ByNamespace", (_SCHEDULER,), _ALL, _EVERY_PATH),
    ("kube-system-service-accounts", "workload-high", 900, "ByNamespace", (_SYSTEM_ACCOUNTS,), _ALL, _EVERY_PATH),
    ("service-accounts", "workload-low", 9_000, "ByUser", ("Group system:serviceaccounts",), _ALL, _EVERY_PATH),
    ("global-default", "global-default", 9_900, "ByUser", _ANYBODY, _ALL, _EVERY_PATH),
    ("catch-all", "catch-all", 10_000, "ByUser", _ANYBODY, _ALL, _EVERY_PATH),
)  # fmt: skip
"""Name, level, precedence, how flows are told apart, whose requests, about which objects and which paths."""


def add_flow_control(store: Store) -> None:
    """Create them."""
    exempt = {"type": "Exempt", "exempt": {"nominalConcurrencyShares": 0, "lendablePercent": 0}}
    _create_level(store, "exempt", exempt)
    for name, (shares, percent, queues) in _LEVELS.items():
        response: Object = {"type": "Reject"}
        if queues is not None:
            count, hand = queues
            queuing = {"queues": count, "handSize": hand, "queueLengthLimit": _QUEUE_LENGTH}
            response = {"type": "Queue", "queuing": queuing}
        limited = {
            "nominalConcurrencyShares": shares,
            "lendablePercent": percent,
            "limitResponse": response,
        }
        _create_level(store, name, {"type": "Limited", "limited": limited})
    for row in _SCHEMAS:
        _create_schema(store, *row)


def _create_level(store: Store, name: str, spec: Object) -> None:
    head = {"name": name, "annotations": _KEPT}
    store.create("prioritylevelconfigurations", "", {"metadata": head, "spec": spec})


def _create_schema(
    store: Store,
    name: str,
    level: str,
    precedence: int,
    distinguisher: str,
    subjects: tuple[str, ...],
    objects: Any,
    paths: Any,
) -> None:
    rule: Object = {"subjects": [_subject(*text.split()) for text in subjects]}
    if objects:
        rule["resourceRules"] = list(objects)
    if paths:
        rule["nonResourceRules"] = list(paths)
    spec: Object = {
        "matchingPrecedence": precedence,
        "priorityLevelConfiguration": {"name": level},
        "rules": [rule],
    }
    if distinguisher:
        spec["distinguisherMethod"] = {"type": distinguisher}
    about = f'This FlowSchema references the PriorityLevelConfiguration object named "{level}"'
    condition = {
        "type": "Dangling",
        "status": "False",
        "reason": "Found",
        "message": f"{about} and it exists",
        "lastTransitionTime": rfc3339(store.now()),
    }
    head = {"name": name, "annotations": _KEPT}
    status = {"conditions": [condition]}
    store.create("flowschemas", "", {"metadata": head, "spec": spec, "status": status})


def _subject(kind: str, name: str) -> Object:
    if kind == "ServiceAccount":
        namespace, _, account = name.partition("/")
        return {"kind": kind, "serviceAccount": {"namespace": namespace, "name": account}}
    return {"kind": kind, kind.lower(): {"name": name}}
