"""Flows of objects that a real server accepts with a warning, or refuses in words of its own."""

from __future__ import annotations

from typing import Any

from twin.tests.contract.flow_objects import (
    CONTAINER,
    DEP,
    NS,
    POD,
    SELECTOR,
    SVC,
    TASK,
    deployment,
    flow,
    pod,
    service,
)
from twin.tests.contract.flows import Flow

_TWICE = {"env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]}
_TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{**CONTAINER, **_TWICE}]}}
_ALWAYS = "requiredDuringSchedulingIgnoredDuringExecution"
_OLD = {"key": "beta.kubernetes.io/os", "operator": "Exists"}
_STRANGE = b'{"metadata":{"name":"p","name":"p"},"spec":{"containers":[{"name":"c","image":"i","bogus":1}],"nope":2}}'
_PORTS = (
    [{"containerPort": 80}, {"containerPort": 80}],
    [{"containerPort": 80, "name": "a"}, {"containerPort": 80, "name": "b"}],
    [{"containerPort": 80, "hostPort": 80}, {"containerPort": 80, "hostPort": 81}],
)
_CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1.5"}}}
_BETA = {"volume.beta.kubernetes.io/storage-class": "x"}
_BACKEND = {"service": {"name": "s", "port": {"number": 80}}}

PODS: list[dict[str, Any]] = [
    pod(container=_TWICE),
    *(pod(container={"ports": ports}) for ports in _PORTS),
    pod(
        nodeSelector={
            "beta.kubernetes.io/os": "linux",
            "failure-domain.beta.kubernetes.io/zone": "z",
        }
    ),
    pod(annotations={"container.apparmor.security.beta.kubernetes.io/c": "runtime/default"}),
    pod(annotations={"seccomp.security.alpha.kubernetes.io/pod": "runtime/default"}),
    pod(imagePullSecrets=[{"name": ""}]),
    pod(hostAliases=[{"ip": "1.1.1.1", "hostnames": ["a"]}, {"ip": "1.1.1.1", "hostnames": ["b"]}]),
    pod(
        topologySpreadConstraints=[
            {
                "maxSkew": 1,
                "topologyKey": "beta.kubernetes.io/arch",
                "whenUnsatisfiable": "DoNotSchedule",
            }
        ]
    ),
    pod(container={"resources": {"requests": {"memory": "0.5"}}}),
    pod(container={"resources": {"limits": {"ephemeral-storage": "100m"}}}),
    pod(volumes=[{"name": "v", "gitRepo": {"repository": "x"}}]),
    pod(
        volumes=[
            {"name": "v", "glusterfs": {"endpoints": "e", "path": "/x"}},
            {"name": "w", "cephfs": {"monitors": ["a"]}},
        ]
    ),
    pod("a.b"),
    pod(affinity={"podAffinity": {_ALWAYS: [{"topologyKey": "kubernetes.io/hostname"}]}}),
    pod(
        affinity={"nodeAffinity": {_ALWAYS: {"nodeSelectorTerms": [{"matchExpressions": [_OLD]}]}}}
    ),
]
OTHERS: list[tuple[str, dict[str, Any]]] = [
    (DEP, deployment("a.b")),
    (DEP, deployment(template=_TEMPLATE)),
    (SVC, service(externalIPs=["1.1.1.1"])),
    (SVC, service(type="LoadBalancer", loadBalancerIP="1.1.1.1")),
    (SVC, service(sessionAffinity="ClientIP", clusterIP="None")),
    (SVC, service(annotations={"service.kubernetes.io/topology-aware-hints": "auto"})),
    (
        f"{NS}/persistentvolumeclaims",
        {"metadata": {"name": "c", "annotations": _BETA}, "spec": _CLAIM},
    ),
    (
        "/api/v1/persistentvolumes",
        {
            "metadata": {"name": "pv1", "annotations": _BETA},
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "capacity": {"storage": "1Gi"},
                "hostPath": {"path": "/x"},
                "persistentVolumeReclaimPolicy": "Recycle",
            },
        },
    ),
    (
        "/apis/batch/v1/namespaces/{}/cronjobs",
        {
            "metadata": {"name": "c"},
            "spec": {"schedule": "TZ=UTC * * * * *", "jobTemplate": {"spec": {"template": TASK}}},
        },
    ),
    (
        "/apis/networking.k8s.io/v1/namespaces/{}/ingresses",
        {
            "metadata": {"name": "i", "annotations": {"kubernetes.io/ingress.class": "x"}},
            "spec": {"defaultBackend": _BACKEND},
        },
    ),
    (
        "/apis/networking.k8s.io/v1/namespaces/{}/networkpolicies",
        {
            "metadata": {"name": "n"},
            "spec": {
                "podSelector": {},
                "ingress": [{"from": [{"ipBlock": {"cidr": "10.0.0.1/8"}}]}],
            },
        },
    ),
    (
        "/apis/discovery.k8s.io/v1/namespaces/{}/endpointslices",
        {
            "metadata": {"name": "e"},
            "addressType": "FQDN",
            "endpoints": [{"addresses": ["a.b"]}],
            "ports": [],
        },
    ),
    (
        "/apis/node.k8s.io/v1/runtimeclasses",
        {
            "metadata": {"name": "r"},
            "handler": "h",
            "scheduling": {"nodeSelector": {"beta.kubernetes.io/os": "linux"}},
        },
    ),
    (
        "/apis/apps/v1/namespaces/{}/statefulsets",
        {
            "metadata": {"name": "s"},
            "spec": {"revisionHistoryLimit": -1, "selector": SELECTOR, "template": _TEMPLATE},
        },
    ),
    (f"{NS}/podtemplates", {"metadata": {"name": "s"}, "template": _TEMPLATE}),
    (f"{NS}/endpoints", {"metadata": {"name": "s"}}),
]
FLOWS: list[Flow] = [
    flow(
        "warnings of pods", *(("POST", f"{POD}?dryRun=All", each) for each in PODS), seen=("kind",)
    ),
    flow(
        "fields that are unknown or there twice",
        *(
            ("POST", f"{POD}?dryRun=All&fieldValidation={mode}", _STRANGE)
            for mode in ("Warn", "Ignore", "Strict")
        ),
        seen=("kind",),
    ),
    flow(
        "warnings of others",
        *(("POST", f"{path}?dryRun=All", each) for path, each in OTHERS),
        seen=("kind",),
    ),
]
