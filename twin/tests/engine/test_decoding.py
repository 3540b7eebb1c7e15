"""Every served object decodes into the official client's models."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from kubernetes.client import ApiClient

from twin.engine import Engine
from twin.kinds import KINDS
from twin.workloads.arrival import WorkloadArrival

MODELS = {
    "namespaces": "V1Namespace",
    "nodes": "V1Node",
    "pods": "V1Pod",
    "events": "CoreV1Event",
    "services": "V1Service",
    "configmaps": "V1ConfigMap",
    "resourcequotas": "V1ResourceQuota",
    "deployments": "V1Deployment",
    "replicasets": "V1ReplicaSet",
    "jobs": "V1Job",
    "poddisruptionbudgets": "V1PodDisruptionBudget",
    "priorityclasses": "V1PriorityClass",
    "leases": "V1Lease",
    "limitranges": "V1LimitRange",
    "statefulsets": "V1StatefulSet",
    "daemonsets": "V1DaemonSet",
    "controllerrevisions": "V1ControllerRevision",
    "cronjobs": "V1CronJob",
    "horizontalpodautoscalers": "V2HorizontalPodAutoscaler",
    "secrets": "V1Secret",
    "serviceaccounts": "V1ServiceAccount",
    "endpoints": "V1Endpoints",
    "endpointslices": "V1EndpointSlice",
    "persistentvolumeclaims": "V1PersistentVolumeClaim",
    "persistentvolumes": "V1PersistentVolume",
    "storageclasses": "V1StorageClass",
    "csidrivers": "V1CSIDriver",
    "csinodes": "V1CSINode",
    "csistoragecapacities": "V1CSIStorageCapacity",
    "volumeattachments": "V1VolumeAttachment",
    "deviceclasses": "V1DeviceClass",
    "resourceclaims": "ResourceV1ResourceClaim",
    "resourceclaimtemplates": "V1ResourceClaimTemplate",
    "resourceslices": "V1ResourceSlice",
    "ingresses": "V1Ingress",
    "ingressclasses": "V1IngressClass",
    "networkpolicies": "V1NetworkPolicy",
    "podtemplates": "V1PodTemplate",
    "volumeattributesclasses": "V1VolumeAttributesClass",
    "runtimeclasses": "V1RuntimeClass",
    "ipaddresses": "V1IPAddress",
    "servicecidrs": "V1ServiceCIDR",
    "roles": "V1Role",
    "rolebindings": "V1RoleBinding",
    "clusterroles": "V1ClusterRole",
    "clusterrolebindings": "V1ClusterRoleBinding",
    "customresourcedefinitions": "V1CustomResourceDefinition",
    "mutatingwebhookconfigurations": "V1MutatingWebhookConfiguration",
    "validatingwebhookconfigurations": "V1ValidatingWebhookConfiguration",
    "validatingadmissionpolicies": "V1ValidatingAdmissionPolicy",
    "validatingadmissionpolicybindings": "V1ValidatingAdmissionPolicyBinding",
    "replicationcontrollers": "V1ReplicationController",
    "apiservices": "V1APIService",
    "flowschemas": "V1FlowSchema",
    "prioritylevelconfigurations": "V1PriorityLevelConfiguration",
}
CUSTOM = {"kwoknodeclasses", "nodeclaims", "nodepools", "verticalpodautoscalers"}
"""Kinds of custom resources: the official client has no models of them."""
DEFINITION: dict[str, Any] = {
    "metadata": {"name": "things.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "things", "kind": "Thing"},
        "versions": [{"name": "v1", "served": True, "storage": True,
                      "schema": {"openAPIV3Schema": {"type": "object"}}}],
    },
}  # fmt: skip
KEPT: dict[str, dict[str, Any]] = {
    "secrets": {"stringData": {"a": "b"}},
    "serviceaccounts": {},
    "endpoints": {},
    "endpointslices": {"addressType": "IPv4", "endpoints": []},
    "persistentvolumeclaims": {
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        }
    },
    "persistentvolumes": {
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "hostPath": {"path": "/x"},
        }
    },
    "validatingadmissionpolicies": {
        "spec": {
            "matchConstraints": {
                "resourceRules": [
                    {
                        "apiGroups": [""],
                        "apiVersions": ["v1"],
                        "operations": ["CREATE"],
                        "resources": ["pods"],
                    }
                ]
            },
            "validations": [{"expression": "true"}],
        }
    },
    "validatingadmissionpolicybindings": {
        "spec": {"policyName": "kept", "validationActions": ["Deny"]}
    },
    "mutatingwebhookconfigurations": {},
    "validatingwebhookconfigurations": {},
    "flowschemas": {"spec": {"priorityLevelConfiguration": {"name": "exempt"}}},
    "prioritylevelconfigurations": {"spec": {"type": "Exempt"}},
    "replicationcontrollers": {
        "spec": {
            "replicas": 1,
            "template": {
                "metadata": {"labels": {"a": "b"}},
                "spec": {"containers": [{"name": "c", "image": "i"}]},
            },
        }
    },
    "storageclasses": {"provisioner": "example.com/x"},
    "csidrivers": {"spec": {}},
    "csinodes": {"spec": {"drivers": []}},
    "csistoragecapacities": {"storageClassName": "fast"},
    "volumeattachments": {
        "spec": {"attacher": "a", "nodeName": "n", "source": {"persistentVolumeName": "v"}}
    },
    "deviceclasses": {"spec": {}},
    "resourceclaims": {"spec": {}},
    "resourceclaimtemplates": {"spec": {"spec": {}}},
    "resourceslices": {
        "spec": {
            "driver": "d",
            "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
            "nodeName": "n",
        }
    },
    "ingresses": {"spec": {"defaultBackend": {"resource": {"kind": "K", "name": "n"}}}},
    "ingressclasses": {"spec": {"controller": "example.com/x"}},
    "networkpolicies": {"spec": {"podSelector": {}}},
    "podtemplates": {
        "template": {
            "metadata": {"labels": {"a": "b"}},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        }
    },
    "volumeattributesclasses": {"driverName": "example.com", "parameters": {"a": "b"}},
    "runtimeclasses": {"handler": "h"},
    "ipaddresses": {
        "metadata": {"name": "10.1.2.3"},
        "spec": {"parentRef": {"resource": "services", "name": "s"}},
    },
    "servicecidrs": {"spec": {"cidrs": ["10.1.0.0/24"]}},
    "roles": {"rules": []},
    "rolebindings": {
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}
    },
    "clusterroles": {"rules": []},
    "clusterrolebindings": {
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "r"}
    },
}
"""Kinds that are only kept, each with what one of it has to hold."""


@pytest.fixture
def busy(
    engine: Engine,
    pod: Callable[..., dict[str, Any]],
    deployment: Callable[..., dict[str, Any]],
    arrival: Callable[..., WorkloadArrival],
) -> Engine:
    """A cluster with every kind and pods in every phase."""
    store = engine.store
    store.create("pods", "default", pod("huge", cpu="99"))
    limits = {"memory": "1Gi"}
    store.create("pods", "default", pod("leaks", limits=limits,
                 annotations={"foresail.dev/memory-usage-ratio": "3"}))  # fmt: skip
    store.create("deployments", "default", deployment("web", 2))
    selector = {"matchLabels": {"app": "web"}}
    store.create(
        "poddisruptionbudgets",
        "default",
        {"metadata": {"name": "b"}, "spec": {"minAvailable": 1, "selector": selector}},
    )
    ports = [{"port": 80}]
    store.create("services", "default", {"metadata": {"name": "s"}, "spec": {"ports": ports}})
    for resource, body in KEPT.items():
        namespace = "default" if KINDS[resource].namespaced else ""
        store.create(resource, namespace, {"metadata": {"name": "kept"}, **body})
    own = {"capacity": {"cpu": "4", "pods": "9"}, "allocatable": {"cpu": "3", "pods": "8"}}
    named = {"metadata": {"name": "own"}, "spec": {"providerID": "kwok://own"}, "status": own}
    store.create("nodes", "", named)
    api = {"group": "a.b", "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 1}
    store.create("apiservices", "", {"metadata": {"name": "v1.a.b"}, "spec": api})
    store.create("customresourcedefinitions", "", DEFINITION)
    store.create("configmaps", "default", {"metadata": {"name": "c"}, "data": {"a": "b"}})
    store.create("resourcequotas", "default", {"metadata": {"name": "q"}, "spec": {"hard": {}}})
    store.create("leases", "default", {"metadata": {"name": "l"}, "spec": {}})
    store.create("priorityclasses", "", {"metadata": {"name": "p"}, "value": 5})
    _create_controlled(engine, deployment)
    ends = [arrival("good", duration_seconds=5.0), arrival("bad", duration_seconds=5.0,
            outcome="fail"), arrival("long", duration_seconds=None, outcome="run")]  # fmt: skip
    engine.load(iter(ends))
    engine.advance(engine.now + 70)
    engine.fail_node("n1", 1_000.0)
    engine.advance(engine.now + 60)
    return engine


def _create_controlled(engine: Engine, deployment: Callable[..., dict[str, Any]]) -> None:
    """Create one object of each further kind that a controller works on."""
    store, plain = engine.store, deployment("x", 2)["spec"]
    both = {key: plain[key] for key in ("selector", "template")}
    job = {"template": {"spec": {**plain["template"]["spec"], "restartPolicy": "Never"}}}
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    behavior = {"scaleDown": {"stabilizationWindowSeconds": 60}}
    bounds = {"type": "Container", "max": {"cpu": "100"}, "default": {"cpu": "90"}}
    specs: dict[str, dict[str, Any]] = {
        "statefulsets": {**plain, "serviceName": "x"},
        "daemonsets": both,
        "cronjobs": {"schedule": "* * * * *", "jobTemplate": {"spec": job}},
        "horizontalpodautoscalers": {
            "scaleTargetRef": target,
            "maxReplicas": 3,
            "behavior": behavior,
        },
        "limitranges": {"limits": [bounds]},
    }
    for resource, spec in specs.items():
        store.create(resource, "default", {"metadata": {"name": f"one-{resource}"}, "spec": spec})


@pytest.mark.parametrize("resource", sorted(set(KINDS) - CUSTOM))
def test_every_kind_decodes(busy: Engine, resource: str) -> None:
    """All objects of every kind fit the official client's models, which check required fields."""
    objects = list(busy.store.list(resource))
    assert objects, f"no {resource} to decode"
    for obj in objects:
        text = json.dumps(obj)
        model = ApiClient().deserialize(text, MODELS[resource], "application/json")
        assert model.metadata.name == obj["metadata"]["name"]


def test_pods_of_every_phase_are_among_them(busy: Engine) -> None:
    """The cluster of this test really holds pods in all four phases and a crash loop."""
    pods = list(busy.store.list("pods"))
    reasons = [
        entry["state"].get("waiting", {}).get("reason")
        for obj in pods
        for entry in obj["status"].get("containerStatuses", [])
    ]

    assert {obj["status"]["phase"] for obj in pods} == {"Pending", "Running", "Succeeded", "Failed"}
    assert "CrashLoopBackOff" in reasons


def test_the_decoder_can_refuse() -> None:
    """A container status without imageID is refused, so decoding does check something."""
    status = {"name": "c", "ready": True, "restartCount": 0, "image": "a"}
    body = {"metadata": {"name": "x"}, "status": {"containerStatuses": [status]}}
    with pytest.raises(ValueError, match=r"image_id|imageID"):
        ApiClient().deserialize(json.dumps(body), "V1Pod", "application/json")
