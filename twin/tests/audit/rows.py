"""Requests, and what an audit log says of each; the answers are those of kube-apiserver 1.36."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
POLICY = """
apiVersion: audit.k8s.io/v1
kind: Policy
rules:
  - level: None
    resources:
      - {group: "", resources: [configmaps], resourceNames: [unseen]}
  - level: None
    verbs: [get]
    nonResourceURLs: ["/readyz*"]
  - level: RequestResponse
    omitStages: [RequestReceived]
    omitManagedFields: true
    resources:
      - {group: "", resources: [configmaps]}
  - level: Request
    omitStages: [RequestReceived]
    namespaces: [default]
    resources:
      - {group: coordination.k8s.io, resources: ["*"]}
  - level: Metadata
    resources:
      - {group: "", resources: ["*/status", "services/*"]}
    omitStages: [RequestReceived, ResponseStarted]
  - level: Metadata
"""


@dataclass(frozen=True, slots=True)
class Said:
    """What one event has to say."""

    stage: str
    level: str
    verb: str
    code: int = 0
    reference: Mapping[str, str] | None = None
    sent: Any = None
    """What its requestObject holds at least."""
    answered: Any = None
    """What its responseObject holds at least."""
    status: Mapping[str, str] = field(default_factory=dict)
    decision: str | None = "allow"


@dataclass(frozen=True, slots=True)
class Row:
    """One request and its events."""

    name: str
    method: str
    path: str
    events: tuple[Said, ...]
    body: Any = None
    query: Mapping[str, str] = field(default_factory=dict)
    kind: str = "application/json"
    acting_for: str = ""


_A = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"x": "1"}}
_LEASE = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l"}}
_MAP = {"resource": "configmaps", "namespace": "default", "apiVersion": "v1"}
_NAMED = {**_MAP, "name": "a"}
_DONE, _IN = "ResponseComplete", "RequestReceived"
_WHOLE, _META = "RequestResponse", "Metadata"
_LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
ROWS = (
    Row(
        "a creation with both bodies",
        "POST",
        MAPS,
        (Said(_DONE, _WHOLE, "create", 201, _NAMED, {"data": {"x": "1"}}, {"kind": "ConfigMap"}),),
        _A,
    ),
    Row(
        "a read has no body but its answer",
        "GET",
        f"{MAPS}/a",
        (Said(_DONE, _WHOLE, "get", 200, _NAMED, None, {"data": {"x": "1"}}),),
    ),
    Row(
        "a patch as it was sent",
        "PATCH",
        f"{MAPS}/a",
        (Said(_DONE, _WHOLE, "patch", 200, _NAMED, {"data": {"y": "2"}}, {"kind": "ConfigMap"}),),
        {"data": {"y": "2"}},
        kind="application/merge-patch+json",
    ),
    Row(
        "a list names no object",
        "GET",
        MAPS,
        (Said(_DONE, _WHOLE, "list", 200, _MAP, None, {"kind": "ConfigMapList"}),),
    ),
    Row(
        "a field selector names one",
        "GET",
        MAPS,
        (Said(_DONE, _WHOLE, "list", 200, _NAMED, None, {"kind": "ConfigMapList"}),),
        query={"fieldSelector": "metadata.name=a"},
    ),
    Row(
        "a refusal says why",
        "POST",
        MAPS,
        (
            Said(_DONE, _WHOLE, "create", 409, _NAMED, {"kind": "ConfigMap"}, {"kind": "Status"},
                 {"status": "Failure", "reason": "AlreadyExists",
                  "message": 'configmaps "a" already exists'}),
        ),
        _A,
    ),
    Row("what the policy leaves out", "GET", f"{MAPS}/unseen", ()),
    Row("a path that the policy leaves out", "GET", "/readyz/ping", ()),
    Row(
        "a path that is no resource",
        "GET",
        "/version",
        (Said(_IN, _META, "get", decision=None), Said(_DONE, _META, "get", 200)),
    ),
    Row(
        "a watch begins and ends",
        "GET",
        MAPS,
        (
            Said("ResponseStarted", _WHOLE, "watch", 200, _MAP),
            Said(_DONE, _WHOLE, "watch", 200, _MAP),
        ),
        query={"watch": "true", "timeoutSeconds": "1"},
    ),
    Row(
        "one level below has no answer",
        "POST",
        _LEASES,
        (
            Said(_DONE, "Request", "create", 201,
                 {"resource": "leases", "namespace": "default", "name": "l", "apiVersion": "v1",
                  "apiGroup": "coordination.k8s.io"}, {"kind": "Lease"}),
        ),
        _LEASE,
    ),
    Row(
        "a subresource",
        "PATCH",
        "/api/v1/namespaces/default/services/kubernetes/status",
        (
            Said(_DONE, _META, "patch", 200,
                 {"resource": "services", "namespace": "default", "name": "kubernetes",
                  "apiVersion": "v1", "subresource": "status"}),
        ),
        {},
        query={"dryRun": "All"},
        kind="application/merge-patch+json",
    ),
    Row(
        "who may not",
        "GET",
        PODS,
        (
            Said(_IN, _META, "list", reference={"resource": "pods", "namespace": "default",
                                               "apiVersion": "v1"}, decision=None),
            Said(_DONE, _META, "list", 403, {"resource": "pods", "namespace": "default",
                                            "apiVersion": "v1"},
                 status={"status": "Failure", "reason": "Forbidden"}, decision="forbid"),
        ),
        acting_for="nobody-special",
    ),
    Row(
        "a deletion is answered with a Status",
        "DELETE",
        f"{MAPS}/a",
        (
            Said(_DONE, _WHOLE, "delete", 200, _NAMED, None, {"kind": "Status"},
                 {"status": "Success"}),
        ),
    ),
    Row(
        "a namespace is inside itself",
        "GET",
        "/api/v1/namespaces/default",
        (
            Said(_IN, _META, "get", decision=None,
                 reference={"resource": "namespaces", "namespace": "default", "name": "default",
                            "apiVersion": "v1"}),
            Said(_DONE, _META, "get", 200,
                 {"resource": "namespaces", "namespace": "default", "name": "default",
                  "apiVersion": "v1"}),
        ),
    ),
    Row(
        "a path that is nowhere",
        "GET",
        "/apis/nowhere.example.com/v1/things",
        (
            Said(_IN, _META, "list", decision=None,
                 reference={"resource": "things", "apiVersion": "v1",
                            "apiGroup": "nowhere.example.com"}),
            Said(_DONE, _META, "list", 404,
                 {"resource": "things", "apiVersion": "v1", "apiGroup": "nowhere.example.com"}),
        ),
    ),
)  # fmt: skip
