"""The embedded cluster's API: any request is answered, with a Status where it is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.mutation import FUZZ, ODD_TEXTS, broken_encodings, mutations
from twin.port.api import Request, Response, Router
from twin.port.engine import Engine
from twin.port.workloads import open_workload

KINDS = {
    "json": "application/json",
    "yaml": "application/yaml",
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "patch": "application/json-patch+json",
    "apply": "application/apply-patch+yaml",
    "protobuf": "application/vnd.kubernetes.protobuf",
}
LISTS = (
    "/api/v1/nodes", "/api/v1/pods", "/api/v1/namespaces/default/pods", "/api/v1/namespaces", "/api/v1/events",
    "/apis/apps/v1/namespaces/default/deployments", "/apis/batch/v1/namespaces/default/jobs",
    "/apis/policy/v1/namespaces/default/poddisruptionbudgets", "/api/v1/namespaces/default/configmaps",
    "/apis/metrics.k8s.io/v1beta1/nodes", "/apis/metrics.k8s.io/v1beta1/namespaces/default/pods",
    "/apis/apps/v1/replicasets", "/apis/coordination.k8s.io/v1/leases", "/openapi/v3", "/version", "/api",
    "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", "/foresail",
)  # fmt: skip
QUERY = {
    "limit": ["1", "0", "-1", "x", "9" * 30],
    "continue": ["", "x", "eyJ9", "a" * 50],
    "labelSelector": [
        "a=b",
        "a in (b,c)",
        "!a",
        "a in (",
        "=",
        "a==b,,",
        "foresail.dev/simulated=true",
    ],
    "fieldSelector": ["spec.nodeName=x", "status.phase!=Running", "x", "=", "metadata.name=a,"],
    "resourceVersion": ["0", "1", "-1", "x", "9" * 30],
    "resourceVersionMatch": ["Exact", "NotOlderThan", "x"],
    "watch": ["true", "1", "x"],
    "timeoutSeconds": ["1", "x", "-1", "9" * 30],
    "allowWatchBookmarks": ["true", "x"],
    "dryRun": ["All", "x", ""],
    "gracePeriodSeconds": ["0", "x", "-1", "9" * 30],
    "propagationPolicy": ["Foreground", "x"],
    "fieldManager": ["x", ""],
    "force": ["true", "x"],
}
DEPLOYMENT: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "default", "labels": {"a": "b"}},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {
                "containers": [
                    {
                        "name": "c",
                        "image": "i:1",
                        "resources": {
                            "requests": {"cpu": "100m", "memory": "64Mi"},
                            "limits": {"cpu": "1"},
                        },
                    }
                ],
                "tolerations": [{"key": "k", "operator": "Exists", "effect": "NoSchedule"}],
                "nodeSelector": {"x": "y"},
            },
        },
    },
}
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "namespace": "default"},
    "spec": DEPLOYMENT["spec"]["template"]["spec"],
}
JOB = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "j", "namespace": "default"},
    "spec": {
        "parallelism": 1,
        "completions": 2,
        "backoffLimit": 1,
        "template": {"spec": {**POD["spec"], "restartPolicy": "Never"}},
    },
}
BUDGET = {
    "apiVersion": "policy/v1",
    "kind": "PodDisruptionBudget",
    "metadata": {"name": "b", "namespace": "default"},
    "spec": {
        "minAvailable": "50%",
        "selector": {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]},
    },
}
NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "extra", "labels": {"a": "b"}},
    "spec": {"unschedulable": True, "taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]},
    "status": {
        "capacity": {"cpu": "4", "memory": "8Gi", "pods": "110"},
        "allocatable": {"cpu": "4", "memory": "8Gi"},
    },
}
OBJECTS = (DEPLOYMENT, POD, JOB, BUDGET, NODE)
PATHS = {
    "Deployment": "/apis/apps/v1/namespaces/default/deployments",
    "Pod": "/api/v1/namespaces/default/pods",
    "Job": "/apis/batch/v1/namespaces/default/jobs",
    "PodDisruptionBudget": "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
    "Node": "/api/v1/nodes",
}
PATCHES = (
    {"metadata": {"labels": {"a": None}}, "spec": {"replicas": 3}},
    {
        "spec": {
            "taints": [{"key": "k", "effect": "NoSchedule", "$patch": "delete"}],
            "unschedulable": None,
        }
    },
    [
        {"op": "replace", "path": "/spec/replicas", "value": 1},
        {"op": "test", "path": "/a~1b/-", "value": 0},
    ],
)


@pytest.fixture
def engine() -> Engine:
    """Return a small cluster with something running."""
    made = Engine(None, 1)
    workload = open_workload("openb", nodes=3, seed=1)
    made.add_nodes(workload.nodes)
    made.load(workload.arrivals)
    made.advance(made.now + 600.0)
    for one in OBJECTS:
        ask(made, "POST", PATHS[one["kind"]], {}, json.dumps(one).encode())
    made.advance(made.now + 60.0)
    return made


def ask(
    engine: Engine,
    method: str,
    path: str,
    query: dict[str, str],
    body: bytes,
    kind: str = "application/json",
) -> int:
    """Ask once; check that the answer is one, and return its status."""
    headers = {"content-type": kind, "accept": "application/json"}
    answer = Router(engine).handle(Request(method, path, query, headers, body))
    if not isinstance(answer, Response):
        return 200
    if answer.content_type == "application/json":
        content = json.loads(answer.body)
        if answer.status >= 400:
            assert ("Status", answer.status) == (content["kind"], content["code"])
    assert answer.status < 500 or answer.status == 503
    return answer.status


@FUZZ
@given(st.data())
def test_a_request_of_any_form(engine: Engine, data: st.DataObject) -> None:
    """Any method, path, query and body is answered below 500, and the cluster lives on."""
    name = data.draw(st.sampled_from(["", "/web", "/p", "/node-0000", "/openb-node-0000", "/x"]))
    under = data.draw(
        st.sampled_from(["", "", "/status", "/scale", "/eviction", "/binding", "/log", "/x"])
    )
    path = data.draw(
        st.sampled_from(LISTS) | st.sampled_from(ODD_TEXTS).map(lambda t: f"/api/v1/{t}")
    )
    query = data.draw(st.dictionaries(st.sampled_from(sorted(QUERY)), st.none(), max_size=3))
    chosen = {key: data.draw(st.sampled_from(QUERY[key] + list(ODD_TEXTS))) for key in query}
    method = data.draw(st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "BREW"]))
    body = data.draw(broken_encodings(data.draw(st.sampled_from(OBJECTS + PATCHES))) | st.just(b""))
    ask(
        engine,
        method,
        path + name + under,
        chosen,
        body,
        data.draw(st.sampled_from(list(KINDS.values()))),
    )
    engine.advance(engine.now + 30.0)


@FUZZ
@given(st.data())
def test_an_object_of_any_form(engine: Engine, data: st.DataObject) -> None:
    """A created or replaced object is refused, or the cluster simulates it without failing."""
    made = data.draw(st.sampled_from(OBJECTS))
    content = json.dumps(data.draw(mutations(made))).encode()
    path = PATHS[made["kind"]]
    name = made["metadata"]["name"]
    if data.draw(st.booleans()):
        ask(engine, "DELETE", f"{path}/{name}", {"gracePeriodSeconds": "0"}, b"")
        engine.advance(engine.now + 40.0)
        ask(engine, "POST", path, {}, content)
    else:
        ask(engine, "PUT", f"{path}/{name}", {}, content)
    engine.advance(engine.now + 90.0)
    for each in PATHS.values():
        assert 200 == ask(engine, "GET", each, {}, b"")


@FUZZ
@given(st.data())
def test_a_patch_of_any_form(engine: Engine, data: st.DataObject) -> None:
    """A patch is refused, or the cluster simulates what it made without failing."""
    target = data.draw(st.sampled_from(["Deployment/web", "Pod/p", "Node/extra", "Job/j"]))
    kind, name = target.split("/")
    body = json.dumps(data.draw(mutations(data.draw(st.sampled_from(OBJECTS + PATCHES))))).encode()
    sent_as = data.draw(st.sampled_from([KINDS["merge"], KINDS["strategic"], KINDS["patch"]]))
    ask(engine, "PATCH", f"{PATHS[kind]}/{name}", {}, body, sent_as)
    engine.advance(engine.now + 90.0)
    for each in PATHS.values():
        assert 200 == ask(engine, "GET", each, {}, b"")
