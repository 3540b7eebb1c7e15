"""The life of an object of each kind: made, read, changed, refused in several ways, and deleted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from twin.tests.contract.flow_objects import (
    CM,
    DEP,
    NS,
    PARTIAL,
    POD,
    SELECTOR,
    SVC,
    TASK,
    TEMPLATE,
    Object,
    flow,
)
from twin.tests.contract.flows import Flow

Life = tuple[str, str, Object, Object | None, Object | None]
"""A path, a name, what is made, a change of it, and one of its status."""
_APPS, _BATCH, _NET = (
    f"/apis/{group}/v1/namespaces/{{}}" for group in ("apps", "batch", "networking.k8s.io")
)
_ALL_NET, _STORAGE, _RIGHTS = (
    f"/apis/{group}/v1"
    for group in ("networking.k8s.io", "storage.k8s.io", "rbac.authorization.k8s.io")
)
_RULING = "/apis/admissionregistration.k8s.io/v1"
_LABELLED: Object = {"metadata": {"labels": {"x": "y"}}}
_OBSERVED: Object = {"replicas": 0, "observedGeneration": 9}
_WAITS: Object = {"spec": {"minReadySeconds": 2}}
_READS: Object = {"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}
_TARGET: Object = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
_RULED: Object = {
    "apiGroups": ["x.y"],
    "apiVersions": ["v1"],
    "operations": ["CREATE"],
    "resources": ["zs"],
}
_ADDRESS: Object = {"loadBalancer": {"ingress": [{"ip": "1.1.1.1"}]}}
_SET: Object = {"spec": {"replicas": 0, "selector": SELECTOR, "template": TEMPLATE}}
_DAEMON: Object = {
    "spec": {
        "selector": SELECTOR,
        "template": {**TEMPLATE, "spec": {**TEMPLATE["spec"], "nodeSelector": {"none": "here"}}},
    }
}

LIVES: dict[str, Life] = {
    "configmaps": (CM, "k", {"data": {"a": "b"}}, {"data": {"c": "d"}}, None),
    "secrets": (f"{NS}/secrets", "k", {"stringData": {"a": "b"}}, {"stringData": {"c": "d"}}, None),
    "serviceaccounts": (
        f"{NS}/serviceaccounts",
        "k",
        {},
        {"automountServiceAccountToken": False},
        None,
    ),
    "services": (
        SVC,
        "k",
        {"spec": {"ports": [{"port": 80}]}},
        {"spec": {"selector": {"x": "y"}}},
        _ADDRESS,
    ),
    "endpoints": (
        f"{NS}/endpoints",
        "k",
        {"subsets": [{"addresses": [{"ip": "10.0.0.1"}], "ports": [{"port": 1}]}]},
        {"subsets": []},
        None,
    ),
    "resourcequotas": (
        f"{NS}/resourcequotas",
        "k",
        {"spec": {"hard": {"pods": "3"}}},
        {"spec": {"hard": {"pods": "5"}}},
        None,
    ),
    "limitranges": (
        f"{NS}/limitranges",
        "k",
        {"spec": {"limits": [{"type": "Container", "default": {"cpu": "1"}}]}},
        _LABELLED,
        None,
    ),
    "podtemplates": (
        f"{NS}/podtemplates",
        "k",
        {"template": TEMPLATE},
        {"template": {"metadata": {"labels": {"c": "d"}}}},
        None,
    ),
    "persistentvolumes": (
        "/api/v1/persistentvolumes",
        "k-{}",
        {
            "spec": {
                "storageClassName": "x",
                "accessModes": ["ReadWriteOnce"],
                "capacity": {"storage": "1Gi"},
                "hostPath": {"path": "/x"},
            }
        },
        {"spec": {"persistentVolumeReclaimPolicy": "Delete"}},
        None,
    ),
    "statefulsets": (f"{_APPS}/statefulsets", "k", _SET, _WAITS, None),
    "replicasets": (f"{_APPS}/replicasets", "k", _SET, _WAITS, None),
    "daemonsets": (f"{_APPS}/daemonsets", "k", _DAEMON, _WAITS, None),
    "deployments": (DEP, "k", _SET, {"spec": {"paused": True}}, None),
    "cronjobs": (
        f"{_BATCH}/cronjobs",
        "k",
        {
            "spec": {
                "suspend": True,
                "schedule": "0 0 1 1 *",
                "jobTemplate": {"spec": {"template": TASK}},
            }
        },
        {"spec": {"suspend": False}},
        {"lastScheduleTime": "2026-01-01T00:00:00Z"},
    ),
    "poddisruptionbudgets": (
        "/apis/policy/v1/namespaces/{}/poddisruptionbudgets",
        "k",
        {"spec": {"minAvailable": 1, "selector": SELECTOR}},
        {"spec": {"minAvailable": "50%"}},
        None,
    ),
    "horizontalpodautoscalers": (
        "/apis/autoscaling/v2/namespaces/{}/horizontalpodautoscalers",
        "k",
        {"spec": {"maxReplicas": 3, "scaleTargetRef": _TARGET}},
        {"spec": {"maxReplicas": 4}},
        None,
    ),
    "ingresses": (
        f"{_NET}/ingresses",
        "k",
        {"spec": {"defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}}},
        {"spec": {"ingressClassName": "x"}},
        _ADDRESS,
    ),
    "ingressclasses": (
        f"{_ALL_NET}/ingressclasses",
        "k-{}",
        {"spec": {"controller": "a.b/c"}},
        _LABELLED,
        None,
    ),
    "networkpolicies": (
        f"{_NET}/networkpolicies",
        "k",
        {"spec": {"podSelector": {}}},
        {"spec": {"policyTypes": ["Egress"]}},
        None,
    ),
    "leases": (
        "/apis/coordination.k8s.io/v1/namespaces/{}/leases",
        "k",
        {
            "spec": {
                "holderIdentity": "a",
                "leaseDurationSeconds": 10,
                "renewTime": "2026-01-01T00:00:00.000000Z",
            }
        },
        {"spec": {"holderIdentity": "b"}},
        None,
    ),
    "endpointslices": (
        "/apis/discovery.k8s.io/v1/namespaces/{}/endpointslices",
        "k",
        {
            "addressType": "IPv4",
            "endpoints": [{"addresses": ["10.0.0.1"]}],
            "ports": [{"port": 80}],
        },
        {"endpoints": [{"addresses": ["10.0.0.2"], "conditions": {"ready": True}}]},
        None,
    ),
    "priorityclasses": (
        "/apis/scheduling.k8s.io/v1/priorityclasses",
        "k-{}",
        {"value": 100},
        {"description": "x"},
        None,
    ),
    "runtimeclasses": (
        "/apis/node.k8s.io/v1/runtimeclasses",
        "k-{}",
        {"handler": "h"},
        _LABELLED,
        None,
    ),
    "storageclasses": (
        f"{_STORAGE}/storageclasses",
        "k-{}",
        {"provisioner": "a.b/c"},
        {"allowVolumeExpansion": True},
        None,
    ),
    "csidrivers": (
        f"{_STORAGE}/csidrivers",
        "k-{}.io",
        {"spec": {}},
        {"spec": {"storageCapacity": True}},
        None,
    ),
    "csistoragecapacities": (
        f"{_STORAGE}/namespaces/{{}}/csistoragecapacities",
        "k",
        {"storageClassName": "x", "capacity": "1Gi"},
        {"capacity": "2Gi"},
        None,
    ),
    "volumeattachments": (
        f"{_STORAGE}/volumeattachments",
        "k-{}",
        {"spec": {"attacher": "a.b", "nodeName": "n", "source": {"persistentVolumeName": "p"}}},
        _LABELLED,
        {"attached": True},
    ),
    "roles": (f"{_RIGHTS}/namespaces/{{}}/roles", "k", _READS, _LABELLED, None),
    "rolebindings": (
        f"{_RIGHTS}/namespaces/{{}}/rolebindings",
        "k",
        {
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "k"},
            "subjects": [{"kind": "User", "name": "u", "apiGroup": "rbac.authorization.k8s.io"}],
        },
        {"subjects": []},
        None,
    ),
    "clusterroles": (f"{_RIGHTS}/clusterroles", "k-{}", _READS, _LABELLED, None),
    "validatingadmissionpolicybindings": (
        f"{_RULING}/validatingadmissionpolicybindings",
        "k-{}",
        {"spec": {"policyName": "nope", "validationActions": ["Deny"]}},
        {"spec": {"validationActions": ["Audit"]}},
        None,
    ),
    "validatingwebhookconfigurations": (
        f"{_RULING}/validatingwebhookconfigurations",
        "k-{}",
        {"webhooks": []},
        _LABELLED,
        None,
    ),
    "deviceclasses": (
        "/apis/resource.k8s.io/v1/deviceclasses",
        "k-{}.io",
        {"spec": {}},
        _LABELLED,
        None,
    ),
    "pods": (
        POD,
        "k",
        {"spec": {**TEMPLATE["spec"], "schedulerName": "nobody"}},
        {"spec": {"activeDeadlineSeconds": 5}},
        {"conditions": [{"type": "x.io/y", "status": "True"}]},
    ),
}
_SHORT = frozenset(
    {
        "statefulsets",
        "replicasets",
        "daemonsets",
        "deployments",
        "poddisruptionbudgets",
        "horizontalpodautoscalers",
        "cronjobs",
        "persistentvolumes",
        "resourcequotas",
    }
)
"""Kinds whose status the simulation's controllers write meanwhile: of these all else is compared."""


_PROTECTED = frozenset({"persistentvolumes", "persistentvolumeclaims"})
"""Kinds that a controller's finalizer holds for a moment: whether they are gone after their deletion is a race."""


def _steps(life: Life) -> Iterator[tuple[Any, ...]]:
    path, name, made, change, status = life
    whole, obj = f"{path}/{name}", {"metadata": {"name": name.replace("{}", "<ns>")}, **made}
    yield from (("POST", path, obj), ("GET", whole), ("POST", path, obj))
    if change is not None:
        yield ("MERGE", f"{whole}?fieldManager=p", change)
    if status is not None:
        yield ("MERGE", f"{whole}/status?fieldManager=s", {"status": status})
        yield ("GET", f"{whole}/status")
    for metadata in (
        {"labels": {"bad key": "b"}},
        {"annotations": {"bad key": "b"}},
        {"name": "other"},
        {"namespace": "other"},
        {"resourceVersion": "1"},
    ):
        yield ("MERGE", whole, {"metadata": metadata})
    yield ("MERGE", f"{whole}?dryRun=All", {"metadata": {"labels": {"a": "b"}}})
    yield from (("GET", whole, None, PARTIAL), ("DELETE", f"{whole}?dryRun=All"), ("DELETE", whole))
    if path.rpartition("/")[2] not in _PROTECTED:
        yield from (("GET", whole), ("DELETE", whole))


_SEEN = ("kind", "apiVersion", "metadata.name", "metadata.labels", "spec")
FLOWS: list[Flow] = [
    flow(f"life of {name}", *_steps(life), seen=_SEEN if name in _SHORT else ())
    for name, life in LIVES.items()
]
