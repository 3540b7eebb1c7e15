"""Flows of writes, reads and watches: apply, preconditions, other versions, scale, old watches, limits, forms."""

from __future__ import annotations

from typing import Any

from twin.tests.contract.flow_objects import (
    CM,
    DEP,
    EVENTS,
    HPAS,
    NS,
    PARTIAL,
    PARTIALS,
    POD,
    PROTOBUF,
    SECRETS,
    SVC,
    TABLE,
    TASK,
    TEMPLATE,
    config_map,
    deployment,
    flow,
    pod,
    scale,
    secret,
    service,
)
from twin.tests.contract.flows import Flow

OTHER = "11111111-1111-1111-1111-111111111111"
_OWNED = ("metadata.managedFields", "spec.replicas", "metadata.name", "kind", "apiVersion")
_LISTED = ("metadata", "items.metadata.name", "kind", "apiVersion")
_TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
_SOME: dict[str, Any] = {"uid": OTHER}


def _autoscaler(most: int) -> dict[str, Any]:
    spec = {"maxReplicas": most, "targetCPUUtilizationPercentage": 50, "scaleTargetRef": _TARGET}
    kind = {"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler"}
    return {**kind, "metadata": {"name": "h"}, "spec": spec}


def _event(**more: Any) -> dict[str, Any]:
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "e1"},
        "action": "A",
        "reason": "R",
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "c.io/x",
        "reportingInstance": "i",
        "type": "Normal",
        "regarding": {"kind": "Pod", "namespace": "<ns>", "name": "p"},
        "note": "hello",
        **more,
    }


def _series(count: int) -> dict[str, Any]:
    return {"series": {"count": count, "lastObservedTime": f"2026-01-01T00:00:0{count}.000000Z"}}


FLOWS: list[Flow] = [
    flow(
        "apply a scale",
        ("POST", DEP, deployment()),
        ("APPLY", f"{DEP}/web/scale?fieldManager=m", scale(3)),
        ("GET", f"{DEP}/web"),
        ("APPLY", f"{DEP}/web/scale?fieldManager=n", scale(4)),
        ("APPLY", f"{DEP}/web/scale?fieldManager=n&force=true", scale(4)),
        ("GET", f"{DEP}/web"),
        ("MERGE", f"{DEP}/web/scale?fieldManager=o", {"spec": {"replicas": 0}}),
        ("GET", f"{DEP}/web"),
        ("GET", f"{DEP}/none/scale"),
        ("APPLY", f"{DEP}/none/scale?fieldManager=n", scale(4)),
        seen=_OWNED,
    ),
    flow(
        "write a scale",
        ("POST", DEP, deployment()),
        ("MERGE", f"{DEP}/web/scale?fieldManager=o", {"spec": {"replicas": 2}}),
        ("GET", f"{DEP}/web"),
        ("PUT", f"{DEP}/web/scale?fieldManager=p", scale(3)),
        ("GET", f"{DEP}/web"),
        ("PUT", f"{DEP}/web/scale", scale(3, name="x")),
        ("MERGE", f"{DEP}/web/scale", {"spec": {"replicas": -1}}),
        ("JSON", f"{DEP}/web/scale", [{"op": "replace", "path": "/spec/replicas", "value": 1}]),
        ("STRATEGIC", f"{DEP}/web/scale", {"spec": {"replicas": 1}}),
        ("PUT", f"{DEP}/web/scale?dryRun=All", scale(7)),
        ("PUT", f"{DEP}/web/scale", scale(7, resourceVersion="1")),
        ("POST", f"{DEP}/web/scale", scale(1)),
        ("DELETE", f"{DEP}/web/scale"),
        seen=_OWNED,
    ),
    flow(
        "other uids and versions",
        ("POST", CM, config_map()),
        ("APPLY", f"{CM}/a?fieldManager=m", config_map(**_SOME)),
        ("APPLY", f"{CM}/new?fieldManager=m", config_map("new", **_SOME)),
        ("APPLY", f"{CM}/a?fieldManager=m", config_map(resourceVersion="1")),
        ("APPLY", f"{CM}/new?fieldManager=m", config_map("new", resourceVersion="1")),
        ("PUT", f"{CM}/a", config_map(**_SOME)),
        ("MERGE", f"{CM}/a", {"metadata": {"uid": OTHER}}),
        ("DELETE", f"{CM}/a", {"preconditions": {"uid": OTHER}}),
        ("DELETE", f"{CM}/a", {"preconditions": {"resourceVersion": "1"}}),
    ),
    flow(
        "autoscalers of v1",
        ("APPLY", f"{HPAS}/h?fieldManager=m", _autoscaler(3)),
        ("GET", "/apis/autoscaling/v2/namespaces/{}/horizontalpodautoscalers/h"),
        ("APPLY", f"{HPAS}/h?fieldManager=n", _autoscaler(5)),
        ("APPLY", f"{HPAS}/h?fieldManager=m", _autoscaler(5)),
        ("GET", HPAS),
        ("GET", f"{HPAS}/h/status"),
        ("MERGE", f"{HPAS}/h", {"spec": {"minReplicas": 2}}),
        seen=(
            "kind",
            "apiVersion",
            "spec",
            "metadata.managedFields",
            "status.currentReplicas",
            "items.spec",
        ),
    ),
    flow(
        "events of events.k8s.io",
        ("APPLY", f"{EVENTS}/e1?fieldManager=m", _event()),
        ("GET", f"{NS}/events/e1"),
        ("APPLY", f"{EVENTS}/e1?fieldManager=m", _event(**_series(3))),
        ("GET", f"{EVENTS}/e1"),
        ("MERGE", f"{EVENTS}/e1", _series(4)),
        ("GET", f"{EVENTS}/e1"),
    ),
    flow(
        "one object is got, not watched",
        ("POST", CM, config_map()),
        ("GET", f"{CM}/a?watch=true&timeoutSeconds=1"),
        ("GET", f"{CM}/none?watch=true&timeoutSeconds=1"),
        ("GET", f"{CM}/a?watch=1&resourceVersion=0&timeoutSeconds=1"),
    ),
    flow(
        "limits and versions",
        ("POST", SECRETS, secret("a")),
        ("POST", SECRETS, secret("b")),
        ("POST", SECRETS, secret("c")),
        ("GET", f"{SECRETS}?limit=1&resourceVersion=0&labelSelector=none"),
        ("GET", f"{SECRETS}?limit=1&resourceVersion=<version>"),
        (
            "GET",
            f"{SECRETS}?fieldSelector=metadata.name%3Da&limit=1&resourceVersion=0&resourceVersionMatch=NotOlderThan",
        ),
        ("GET", f"{SECRETS}?resourceVersion=<version>&continue=<continue>"),
        ("GET", f"{SECRETS}?continue=abc"),
        ("GET", f"{SECRETS}?limit=x"),
        ("GET", f"{SECRETS}?timeoutSeconds=x"),
        ("GET", f"{SECRETS}?resourceVersion=x"),
        ("GET", f"{SECRETS}?resourceVersionMatch=Exact"),
        ("GET", f"{SECRETS}?resourceVersionMatch=Foo&resourceVersion=1"),
        ("GET", f"{SECRETS}?resourceVersion=0&resourceVersionMatch=Exact"),
        ("GET", f"{SECRETS}?labelSelector=a%3D%3D%3Db"),
        ("GET", f"{SECRETS}?fieldSelector=data.x%3D1"),
        ("GET", f"{SECRETS}?fieldSelector=foo"),
        seen=_LISTED,
    ),
    flow(
        "pods that nobody runs go at once",
        ("POST", POD, pod()),
        ("DELETE", f"{POD}/p"),
        ("POST", POD, pod()),
        ("DELETE", f"{POD}/p?gracePeriodSeconds=0"),
        ("POST", POD, pod()),
        ("DELETE", f"{POD}/p", {"gracePeriodSeconds": 5}),
        ("POST", POD, {**pod(), "metadata": {"name": "p", "finalizers": ["x.io/y"]}}),
        ("DELETE", f"{POD}/p"),
        ("DELETE", f"{POD}/p"),
        ("MERGE", f"{POD}/p", {"metadata": {"finalizers": ["a.io/b"]}}),
        ("MERGE", f"{POD}/p", {"metadata": {"finalizers": None}}),
        ("GET", f"{POD}/p"),
    ),
    flow(
        "ports of balancers",
        ("POST", SVC, service("s", type="LoadBalancer", externalTrafficPolicy="Local")),
        ("MERGE", f"{SVC}/s", {"spec": {"externalTrafficPolicy": "Cluster"}}),
        (
            "POST",
            SVC,
            service(
                "t", type="LoadBalancer", externalTrafficPolicy="Local", healthCheckNodePort=31234
            ),
        ),
        (
            "POST",
            SVC,
            service(
                "u", type="LoadBalancer", externalTrafficPolicy="Local", healthCheckNodePort=31234
            ),
        ),
        ("MERGE", f"{SVC}/t", {"spec": {"healthCheckNodePort": 31235}}),
        ("DELETE", f"{SVC}/t"),
        ("POST", SVC, service("v", type="NodePort", healthCheckNodePort=31236)),
        ("POST", SVC, service("x", type="NodePort", ports=[{"port": 80, "nodePort": 80}])),
        ("POST", SVC, service("x", clusterIP="1.2.3.4")),
        ("POST", SVC, service("x", type="ExternalName", externalName="a.b")),
        ("POST", SVC, service("y", externalIPs=["001.1.1.1"])),
    ),
    flow(
        "the namespace of what is in none",
        (
            "POST",
            "/apis/storage.k8s.io/v1/storageclasses",
            {"metadata": {"name": "k-<ns>", "namespace": "x"}, "provisioner": "a.b/c"},
        ),
        (
            "MERGE",
            "/apis/storage.k8s.io/v1/storageclasses/k-{}",
            {"metadata": {"namespace": "other"}},
        ),
        ("DELETE", "/apis/storage.k8s.io/v1/storageclasses/k-{}"),
    ),
]
JOBS, CONTROLLERS = "/apis/batch/v1/namespaces/{}/jobs", f"{NS}/replicationcontrollers"
_PAUSED = {"suspend": True, "template": TASK}
_COPIES = {"replicas": 0, "selector": {"a": "b"}, "template": TEMPLATE}
FLOWS += [
    flow(
        "what is left behind unasked",
        ("POST", JOBS, {"metadata": {"name": "j"}, "spec": _PAUSED}),
        ("DELETE", f"{JOBS}/j"),
        ("POST", JOBS, {"metadata": {"name": "k"}, "spec": _PAUSED}),
        ("DELETE", f"{JOBS}/k", {"propagationPolicy": "Background"}),
        ("POST", JOBS, {"metadata": {"name": "l"}, "spec": _PAUSED}),
        ("DELETE", f"{JOBS}/l?propagationPolicy=Foreground"),
        ("POST", CONTROLLERS, {"metadata": {"name": "r"}, "spec": _COPIES}),
        ("DELETE", f"{CONTROLLERS}/r"),
        seen=("kind", "metadata.name", "metadata.finalizers", "metadata.generation"),
    ),
]
FORMS: list[Flow] = [
    flow(
        "forms of answers",
        ("POST", SECRETS, secret()),
        ("GET", SECRETS, None, "text/html"),
        ("GET", SECRETS, None, "application/cbor"),
        ("GET", SECRETS, None, "application/json;as=Foo"),
        ("GET", SECRETS, None, "application/json;as=Table;g=meta.k8s.io;v=v2"),
        ("GET", f"{SECRETS}?watch=true&timeoutSeconds=1", None, "text/html"),
        ("GET", SECRETS, None, PARTIALS),
        ("GET", SECRETS, None, PARTIAL),
        ("GET", f"{SECRETS}/none", None, PARTIALS),
        ("GET", f"{HPAS}", None, TABLE),
        ("GET", f"{SECRETS}/none", None, PROTOBUF),
        seen=("kind", "apiVersion", "items"),
    ),
    flow(
        "old watches",
        ("POST", SECRETS, secret()),
        *(
            (("GET", path))
            for path in (
                "/api/v1/watch/namespaces/{}/secrets?timeoutSeconds=1",
                "/api/v1/watch/namespaces/{}/secrets/a?timeoutSeconds=1",
                "/api/v1/watch/namespaces/{}/secrets/none?timeoutSeconds=1",
                "/apis/apps/v1/watch/namespaces/{}/deployments?timeoutSeconds=1",
                "/api/v1/watch/namespaces/{}/nothing?timeoutSeconds=1",
            )
        ),
        ("POST", "/api/v1/watch/namespaces/{}/secrets", secret("x")),
    ),
]
"""Flows of headers and of watches that go on."""
