"""Flows of what a server cannot read or will not do: JSON patches, wrong types, broken bodies, selectors, options.

Their answers hold the words of Go's decoders and of apimachinery, which clients log and match.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tests.twin.contract.flow_objects import (
    CM,
    CONTAINER,
    DEP,
    NS,
    PARTIALS,
    POD,
    SECRETS,
    Object,
    config_map,
    deployment,
    flow,
    pod,
    scale,
)
from tests.twin.contract.flows import Flow, Step

_CONTAINERS = "/spec/template/spec/containers"
_OTHER: Object = {"name": "x", "image": "x"}
_DATA = ("data", "metadata.labels", "metadata.name")
_REVIEWS = "/apis/authorization.k8s.io/v1"
_TOKENS = f"{NS}/serviceaccounts/s/token"
_EVICTION, _BINDING = f"{POD}/p/eviction", f"{POD}/p/binding"


def _step(operation: str, path: Any, *value: Any, **more: Any) -> Object:
    return {"op": operation, "path": path, **({"value": value[0]} if value else {}), **more}


def _from(operation: str, source: str, path: str) -> Object:
    return {"op": operation, "from": source, "path": path}


def _each(path: str, steps: Iterable[Any]) -> list[Step]:
    """Return a JSON patch of one step for each of these."""
    return [("JSON", path, [each]) for each in steps]


_OF_MEMBERS = (
    _step("replace", "/data/none", "x"), _step("replace", "/none/none", "x"),
    _step("remove", "/data/zzz"), _step("remove", "/none"), _step("remove", "/none/none"),
    _from("move", "/data/zzz", "/data/b"), _from("move", "/none/zzz", "/data/b"),
    _from("copy", "/data/zzz", "/data/b"), _from("copy", "/none/z", "/data/b"),
    _step("test", "/data/k", "v"), _step("test", "/data/k", "w"), _step("test", "/data/zzz", "w"),
    _step("test", "/data/zzz", None), _step("test", "/data/zzz"), _step("test", "/none/zzz", None),
    _step("test", "/metadata/labels", None), _step("test", "", {}),
    _step("add", "/none/zzz", "a"), _step("add", "/data/q"), _step("add", "/data/q", None),
    _step("add", "/data", None), _step("add", "data/q", "x"), _step("add", "", "x"),
    _step("add", "/", "x"), _step("replace", "", "x"), _step("replace", "", config_map()),
    _step("remove", ""), _from("copy", "", "/data/x"), _from("move", "/data", "/data/x"),
    _from("move", "/data/k", "/data/k"), _from("copy", "/data/k", ""),
    _step("bad", "/data/k", "v"), {"path": "/data/k", "value": "x"}, {"op": "add", "value": "x"},
    {"op": "copy", "path": "/data/y"}, _from("copy", "data", "/data/y"),
    _step("add", 5, "x"), _step(5, "/data/y", "x"), _step("add", "/data/y", "x", extra=1),  # type: ignore[arg-type]
    _step("add", "/data/a~1b", "x"), _step("add", "/data/a~b", "x"), _step("remove", "/metadata/name"),
    _step("remove", "/kind"), _step("remove", "/metadata"), _step("add", "/unknown", "x"), 1, None,
)  # fmt: skip
_OF_LISTS = (
    *(_step("replace", f"{_CONTAINERS}/{at}/image", "x") for at in ("0", "1", "-1", "-")),
    *(_step("add", f"{_CONTAINERS}/{at}", _OTHER) for at in ("-", "1", "2", "0", "-1", "-2", "-3", "a", "01")),
    *(_step("remove", f"{_CONTAINERS}/{at}") for at in ("0", "1", "-1", "-", "a", "-2")),
    *(_step("test", f"{_CONTAINERS}/{at}", None) for at in ("7", "x", "-")),
    _step("test", f"{_CONTAINERS}/-1/image", "i:1"), _step("test", "/spec/replicas", "0"),
    _step("test", "/spec/replicas", 0), _step("test", "/spec/replicas", 0.0), _step("test", "/spec/paused", False),
    _from("copy", f"{_CONTAINERS}/0", f"{_CONTAINERS}/-"), _from("move", f"{_CONTAINERS}/5", f"{_CONTAINERS}/0"),
    _from("move", f"{_CONTAINERS}/0", f"{_CONTAINERS}/5"), _step("add", "/spec/replicas/x", 1),
    _step("replace", f"{_CONTAINERS}/0/image/x", 1), _step("replace", "/spec/replicas", None),
)  # fmt: skip
_WRONG_PARTS: tuple[Object, ...] = (
    {"data": "x"}, {"data": ["x"]}, {"data": {"a": 5}}, {"data": {"a": {}}}, {"binaryData": {"a": 5}},
    {"binaryData": {"a": "%%"}}, {"binaryData": {"a": "YQ"}}, {"binaryData": {"a": "YQ=x"}}, {"immutable": "x"},
    *({"metadata": {"name": "a", **wrong}} for wrong in (
        {"name": 5}, {"uid": 5}, {"labels": "x"}, {"labels": {"a": 1}}, {"finalizers": "x"}, {"finalizers": [1]},
        {"ownerReferences": ["x"]}, {"ownerReferences": [{"controller": "x"}]}, {"creationTimestamp": 5},
        {"creationTimestamp": "x"}, {"creationTimestamp": "2026-13-01T00:00:00Z"}, {"deletionTimestamp": "2026"},
        {"creationTimestamp": "2026-01-01T00:00:00Zx"}, {"generation": 1.5}, {"managedFields": [{"time": "x"}]},
    )),
    {"metadata": "x"}, {"metadata": []}, {"kind": 5}, {"apiVersion": 5}, {"kind": "Foo"}, {"apiVersion": "v2"},
    {"apiVersion": "apps/v1", "kind": "Deployment"}, {"kind": ""}, {"apiVersion": "a/b/c"},
    {"kind": "ConfigMapList"},
)  # fmt: skip
_WRONG_SPECS: tuple[Object, ...] = (
    {"containers": "x"}, {"containers": [5]}, {"hostNetwork": 1}, {"terminationGracePeriodSeconds": 1.5},
    {"priority": 2147483648}, {"priority": 1.0}, {"nodeSelector": {"a": 1}}, {"nodeSelector": [1]},
    {"tolerations": [{"tolerationSeconds": "x"}]}, {"affinity": {"nodeAffinity": "x"}},
    {"volumes": [{"emptyDir": "x"}]}, {"volumes": [{"configMap": {"items": [{"mode": "x"}]}}]},
    {"volumes": [{"emptyDir": {"sizeLimit": True}}]}, {"restartPolicy": 5}, {"overhead": "x"},
    {"overhead": {"cpu": []}}, {"securityContext": {"supplementalGroups": ["x"]}},
    *({"containers": [{**CONTAINER, **wrong}]} for wrong in (
        {"command": "x"}, {"command": [5]}, {"env": [{"value": 5}]}, {"ports": [80]},
        {"ports": [{"containerPort": "80"}]}, {"resources": {"limits": "x"}}, {"resources": {"limits": {"cpu": "x"}}},
        {"livenessProbe": {"httpGet": {"port": True}}}, {"livenessProbe": {"httpGet": {"port": 1.5}}},
        {"livenessProbe": {"exec": {"command": "x"}}}, {"securityContext": {"capabilities": {"add": "x"}}},
        {"securityContext": {"capabilities": {"add": [5]}}}, {"imagePullPolicy": 5},
    )),
)  # fmt: skip
_BROKEN = (
    b"", b"{", b"[]", b'"x"', b"5", b"null", b"true", b"x", b'{"a"}', b'{"a":}', b'{"a":1,}', b"{'a':1}",
    b'{"a":1} x', b'{"a":1}{}', b'{"a":"\x01"}', b'{"a":nul}', b'{"a":01}', b'{"a":1.x}', b'{"a":1ex}', b'{"a":-}',
    b'{"a":[1 2]}', b'{"a":1 "b":2}', b'{"a":"b\\q"}', b'{"a":"\\u12g4"}', b"kind: ConfigMap",
)  # fmt: skip
_PATCHED: tuple[Object, ...] = (
    {"data": "x"}, {"data": {"a": 5}}, {"metadata": "x"}, {"metadata": {"labels": {"a": 5}}}, {"kind": "x"},
    {"apiVersion": "x"}, {"metadata": {"name": "b"}}, {"metadata": {"name": None}}, {"metadata": None},
    {"kind": None}, {"foo": "x"}, {"metadata": {"creationTimestamp": "x"}}, {"metadata": {"generation": "x"}},
    {"immutable": "x"}, {"$patch": "foo"}, {"metadata": {"finalizers": "x"}}, {"$setElementOrder/x": []},
)  # fmt: skip
_SELECTORS = (
    "n in (1,2),g", "n notin (1,2)", "!n", "n!=1", "n>2", "n<2", "n>x", "n in ()", "n in", "n in (1", ",", "a,,b",
    "a b", "(a)", "a=b=c", "-a", "a=-b", "A/b/c", "!a=b", "a exists", "n in (,1)", "n==1", "n=", "g,", "!",
    "n in (1 2)", "n notin x", "=x",
)  # fmt: skip
_FIELDS = (
    "metadata.name=c1", "metadata.name!=c1", "metadata.name==c1,type=Opaque", "metadata.name", "=x",
    "metadata.name>c1", r"metadata.name=a\b", r"metadata.name=a\,b", "metadata.uid=x",
)  # fmt: skip
_OPTIONS: tuple[Object, ...] = (
    {"foo": 1}, {"kind": "DeleteOptions", "apiVersion": "apps/v1"}, {"preconditions": "x"},
    {"preconditions": {"uid": 5}}, {"gracePeriodSeconds": 1.5}, {"orphanDependents": "x"}, {"dryRun": "All"},
    {"orphanDependents": True, "propagationPolicy": "Orphan"}, {"propagationPolicy": 5}, {"dryRun": ["x"]},
    {"preconditions": {"uid": "x"}}, {"kind": "ConfigMap", "apiVersion": "v1"},
)  # fmt: skip


def _review(kind: str, **more: Any) -> Step:
    body = {"apiVersion": "authorization.k8s.io/v1", "kind": kind, **more}
    return ("POST", f"{_REVIEWS}/{kind.lower()}s", body)


def _asks(**more: Any) -> Object:
    return {"resourceAttributes": {"verb": "get", "resource": "pods", **more}}


def _evicts(**more: Any) -> Object:
    return {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}, **more}


def _binds(pod_name: str = "p", uid: str = "", **target: Any) -> Object:
    metadata = {"name": pod_name, **({"uid": uid} if uid else {})}
    return {"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": target}


_SOME: Object = {"requests": {"cpu": "1"}}
_SELF = "SelfSubjectAccessReview"
_BOTH: Object = {"rawSelector": "a=b", "requirements": [{"key": "a", "operator": "Exists"}]}

FLOWS: list[Flow] = [
    flow(
        "JSON patches of members",
        ("POST", CM, config_map()),
        *_each(f"{CM}/a?dryRun=All", _OF_MEMBERS),
        *(("JSON", f"{CM}/a?dryRun=All", whole) for whole in (b"null", [], {}, "x", 5, True)),
        *(("JSON", f"{CM}/a", broken) for broken in _BROKEN[:8]),
        seen=_DATA,
    ),
    flow(
        "JSON patches of lists",
        ("POST", DEP, deployment()),
        *_each(f"{DEP}/web?dryRun=All", _OF_LISTS),
        seen=("spec.template.spec.containers.image", "spec.replicas"),
    ),
    flow(
        "wrong types",
        *(("POST", f"{CM}?dryRun=All", {**config_map(), **wrong}) for wrong in _WRONG_PARTS),
        *(
            ("POST", f"{POD}?dryRun=All", {**pod(), "spec": {**pod()["spec"], **wrong}})
            for wrong in _WRONG_SPECS
        ),
        ("POST", POD, {**pod(), "status": {"startTime": "x"}}),
        ("POST", POD, {**pod(), "status": {"conditions": "x"}}),
        seen=("metadata.name",),
    ),
    flow(
        "broken bodies",
        ("POST", CM, config_map()),
        *(("POST", CM, broken) for broken in _BROKEN if broken != b"null"),
        *(("MERGE", f"{CM}/a", broken) for broken in _BROKEN),
        *(("STRATEGIC", f"{CM}/a", broken) for broken in _BROKEN),
        *(("DELETE", f"{CM}/a?dryRun=All", broken) for broken in _BROKEN if broken),
        *(("APPLY", f"{CM}/a?fieldManager=m", broken) for broken in (b"", b"{", b"null", b"[]", b"x")),
        seen=("metadata.name",),
    ),
    flow(
        "patches to what is no object",
        ("POST", CM, config_map()),
        *(("STRATEGIC", f"{CM}/a?dryRun=All", change) for change in _PATCHED),
        *(("MERGE", f"{CM}/a?dryRun=All", {name: None}) for name in ("kind", "metadata", "data")),
        seen=_DATA,
    ),
    flow(
        "selectors",
        *(
            ("POST", SECRETS, {"metadata": {"name": f"c{at}", "labels": {"n": str(at), "g": "x"}}})
            for at in range(4)
        ),
        *(("GET", f"{SECRETS}?labelSelector={text.replace('=', '%3D').replace(' ', '+')}") for text in _SELECTORS),
        *(("GET", f"{SECRETS}?fieldSelector={text.replace('=', '%3D')}") for text in _FIELDS),
        ("GET", f"{SECRETS}?limit=2&labelSelector=n+in+(0,1)"),
        ("GET", f"{SECRETS}?limit=2&labelSelector=n+in+(2,3)"),
        ("GET", f"{SECRETS}?continue=x"),
        ("GET", f"{SECRETS}?labelSelector=none", None, PARTIALS),
        ("GET", "/apis/batch/v1/namespaces/{}/jobs?fieldSelector=spec.nope%3Dx"),
        seen=("metadata", "items.metadata.name", "kind", "items"),
    ),
    flow(
        "options of deletions",
        ("POST", CM, config_map()),
        *(("DELETE", f"{CM}/a?dryRun=All", options) for options in _OPTIONS),
        ("PUT", f"{CM}/a?dryRun=All", config_map(uid="11111111-1111-1111-1111-111111111111")),
        ("DELETE", "/apis/batch/v1/namespaces/{}/jobs/none"),
        ("DELETE", "/apis/batch/v1/namespaces/{}/jobs"),
        seen=("metadata.name", "items"),
    ),
    flow(
        "fields that are unknown",
        ("POST", DEP, deployment()),
        ("PUT", f"{DEP}/web/scale?dryRun=All", {**scale(1), "foo": 1}),
        ("PUT", f"{DEP}/web/scale?fieldValidation=Strict", {**scale(1), "foo": 1}),
        ("MERGE", f"{DEP}/web/scale?dryRun=All", {"spec": {"foo": 1}}),
        ("POST", CM, {"metadata": {"Name": "x"}, "foo": 1}),
        ("PUT", f"{DEP}/web", {**deployment("other"), "foo": 1}),
        ("MERGE", f"{DEP}/web", {"metadata": {"name": "other"}, "foo": 1}),
        seen=("metadata.name", "spec.replicas"),
    ),
    flow(
        "reviews",
        _review(_SELF, spec={}),
        _review(_SELF, spec=_asks()),
        _review(_SELF, spec=_asks(), metadata={"name": "x"}),
        _review(_SELF, spec=_asks(foo=1)),
        _review(_SELF, spec=_asks(labelSelector=_BOTH)),
        _review(_SELF, spec={"nonResourceAttributes": {"verb": "get", "path": "/healthz"}}),
        _review("SubjectAccessReview", spec={**_asks(), "groups": "x"}),
        _review("SubjectAccessReview", spec={**_asks(), "groups": ["system:masters"]}),
        _review("SubjectAccessReview", spec=_asks()),
        ("GET", f"{_REVIEWS}/subjectaccessreviews"),
        ("GET", f"{_REVIEWS}/subjectaccessreviews/x"),
        ("POST", f"{_REVIEWS}/subjectaccessreviews", {"kind": "Foo", "apiVersion": "v1"}),
    ),
    flow(
        "requests for tokens",
        ("POST", f"{NS}/serviceaccounts", {"metadata": {"name": "s"}}),
        ("POST", _TOKENS, {"spec": {"audiences": "x"}}),
        ("POST", _TOKENS, {"spec": {"expirationSeconds": "x"}}),
        ("POST", _TOKENS, {"spec": {"expirationSeconds": 5}}),
        ("POST", _TOKENS, {"metadata": {"name": "other"}}),
        ("POST", _TOKENS, {"metadata": {"namespace": "other"}}),
        ("POST", _TOKENS, {"foo": 1}),
        ("POST", f"{_TOKENS}?fieldValidation=Strict", {"foo": 1}),
        ("POST", _TOKENS, {"kind": "Foo", "apiVersion": "v1"}),
        seen=("metadata.name", "spec.audiences"),
    ),
    flow(
        "evictions, bindings and logs",
        ("POST", POD, pod()),
        *(
            ("POST", f"{_EVICTION}?dryRun=All", body)
            for body in (
                {}, _evicts(), _evicts(foo=1), {**_evicts(), "apiVersion": "policy/v1beta1"},
                {**_evicts(), "apiVersion": "v1", "kind": "Pod"}, {**_evicts(), "metadata": {"name": "q"}},
                _evicts(deleteOptions={"preconditions": {"uid": "nope"}}),
                _evicts(deleteOptions={"preconditions": {"resourceVersion": "1"}}),
                _evicts(deleteOptions={"propagationPolicy": "Nope"}), _evicts(deleteOptions={"dryRun": ["Some"]}),
            )
        ),
        *(
            ("POST", f"{_BINDING}?dryRun=All", body)
            for body in (
                {}, _binds(), _binds("q", name="n"), _binds(name="n", kind="Foo"), _binds(name=5),
                _binds(name="n"), {**_binds(name="n"), "foo": 1}, _binds(uid="x", name="n"),
            )
        ),
        ("STRATEGIC", f"{POD}/p/resize", {"spec": {"containers": [{"name": "c", "resources": _SOME}]}}),
        *(
            ("GET", f"{POD}/p/log?{query}")
            for query in ("", "container=nope", "tailLines=x", "tailLines=-1", "limitBytes=0", "sinceSeconds=0",
                          "sinceTime=x", "sinceSeconds=5&sinceTime=2026-01-01T00:00:00Z")
        ),
        ("POST", f"{POD}/p/log", {}),
        seen=("metadata.name",),
    ),
]  # fmt: skip
