"""Who may do what: 200 requests in compact rows, with the Roles and bindings that decide them.

Every answer is what kubernetes.io/docs/reference/access-authn-authz/rbac says of such Roles and bindings.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from twin.tests.contract.faces import Acting

BLUE, RED = "rights-blue", "rights-red"
GROUP = "rbac.authorization.k8s.io"
READ = ["get", "list", "watch"]
GROUPS = {
    "pods": "",
    "deployments": "apps",
    "statefulsets": "apps",
    "replicasets": "apps",
    "jobs": "batch",
    "leases": "coordination.k8s.io",
    **dict.fromkeys(("roles", "rolebindings", "clusterroles", "clusterrolebindings"), GROUP),
    "storageclasses": "storage.k8s.io",
    "poddisruptionbudgets": "policy",
    "localsubjectaccessreviews": "authorization.k8s.io",
    "subjectaccessreviews": "authorization.k8s.io",
    "selfsubjectaccessreviews": "authorization.k8s.io",
    "selfsubjectreviews": "authentication.k8s.io",
}
"""Groups by resource; others are of the core group."""
METHODS = {
    "get": "GET",
    "list": "GET",
    "watch": "GET",
    "create": "POST",
    "update": "PUT",
    "patch": "PATCH",
    "delete": "DELETE",
    "deletecollection": "DELETE",
}


def _rule(verbs: list[str], resources: str, group: str = "", *names: str) -> dict[str, Any]:
    named = {"resourceNames": list(names)} if names else {}
    return {"verbs": verbs, "apiGroups": [group], "resources": resources.split(), **named}


ROLES: dict[str, list[dict[str, Any]]] = {
    "pod-reader": [_rule(READ, "pods")],
    "log-reader": [_rule(["get"], "pods/log"), _rule(["create"], "pods/eviction")],
    "one-map": [_rule(["get", "update", "list"], "configmaps", "", "the-map")],
    "scaler": [_rule(["get", "update", "patch"], "*/scale", "apps")],
    "apps-all": [_rule(["*"], "*", "apps")],
    "reads-all": [_rule(["get"], "*", "*")],
    "namespaces": [_rule(["get"], "namespaces"), _rule(READ, "secrets")],
}
PATHS = [{"verbs": ["get", "post"], "nonResourceURLs": ["/healthz", "/logs/*"]}]
BINDINGS: tuple[tuple[str, str, str, str], ...] = (
    ("jane", BLUE, "Role", "pod-reader"),
    ("loggy", BLUE, "Role", "log-reader"),
    ("mapper", BLUE, "Role", "one-map"),
    ("scaly", BLUE, "Role", "scaler"),
    ("@apps", BLUE, "Role", "apps-all"),
    ("+blue:robot", BLUE, "Role", "reads-all"),
    ("spacy", BLUE, "Role", "namespaces"),
    ("viewer", BLUE, "ClusterRole", "view"),
    ("editor", BLUE, "ClusterRole", "edit"),
    ("boss", BLUE, "ClusterRole", "admin"),
    ("owner", BLUE, "ClusterRole", "cluster-admin"),
    ("nodey", "", "ClusterRole", "rights-nodes"),
    ("pathy", "", "ClusterRole", "rights-paths"),
    ("@rights-ops", "", "ClusterRole", "cluster-admin"),
    ("@system:serviceaccounts:rights-red", "", "ClusterRole", "view"),
    ("sum", "", "ClusterRole", "rights-sum"),
    ("nodey", RED, "ClusterRole", "rights-nodes"),
)
"""Who (@group, +namespace:account, or a user), where (empty: everywhere), and the role."""
CLUSTER_ROLES: dict[str, dict[str, Any]] = {
    "rights-nodes": {"rules": [_rule([*READ, "patch"], "nodes persistentvolumes")]},
    "rights-paths": {"rules": PATHS},
    "rights-part": {
        "metadata": {"labels": {"rights-part": "true"}},
        "rules": [_rule(["get", "delete"], "secrets"), _rule(["list"], "jobs", "batch")],
    },
    "rights-sum": {
        "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"rights-part": "true"}}]}
    },
}
MATRIX = Path(__file__).with_name("rights.txt")


@dataclass(frozen=True, slots=True)
class Asked:
    """One request of the matrix and its answer."""

    who: Acting
    verb: str
    path: str
    query: dict[str, str]
    attributes: dict[str, dict[str, str]]
    allowed: bool

    @property
    def method(self) -> str:
        """The HTTP method."""
        return METHODS.get(self.verb, self.verb.upper())


def asked_requests() -> Iterator[Asked]:
    """Yield every request of the matrix."""
    acting, namespace = Acting(""), ""
    for line in MATRIX.read_text(encoding="utf-8").splitlines():
        sign, _, text = line.partition(" ")
        if sign in ("+", "-"):
            for phrase in text.split("; "):
                yield _asked(acting, namespace, phrase.split(), sign == "+")
        elif line and sign != "#":
            who, _, where = line.partition(" in ")
            user, _, group = who.partition("@")
            acting = Acting(user, (group,) if group else ())
            namespace = "" if where == "cluster" else where


def _asked(who: Acting, namespace: str, words: list[str], allowed: bool) -> Asked:
    verb, what = words[0], words[1]
    if what.startswith("/"):
        path = {"nonResourceAttributes": {"verb": verb, "path": what}}
        return Asked(who, verb, what, {}, path, allowed)
    resource, _, subresource = what.partition("/")
    name = words[2] if len(words) == 3 else ""
    if resource in ("nodes", "namespaces", "persistentvolumes", "storageclasses") or (
        resource.startswith(("cluster", "self", "subject"))
    ):
        namespace = name if resource == "namespaces" else ""
    group = GROUPS.get(resource, "")
    query = {"watch": "true", "timeoutSeconds": "1"} if verb == "watch" else {}
    if METHODS[verb] != "GET":
        query["dryRun"] = "All"
    attributes = {"verb": verb, "group": group, "resource": resource, "namespace": namespace}
    attributes |= {"subresource": subresource, "name": name.removeprefix("=")}
    if name.startswith("="):
        query["fieldSelector"], name = f"metadata.name={name[1:]}", ""
    home = f"/namespaces/{namespace}" if namespace and resource != "namespaces" else ""
    parts = [f"/apis/{group}/v1{home}" if group else f"/api/v1{home}", resource, name, subresource]
    path = "/".join(part for part in parts if part)
    return Asked(who, verb, path, query, {"resourceAttributes": attributes}, allowed)


def subject_of(who: str) -> dict[str, str]:
    """Return the subject that a binding's short form names."""
    if who.startswith("@"):
        return {"kind": "Group", "name": who[1:]}
    if who.startswith("+"):
        namespace, _, name = who[1:].partition(":")
        return {"kind": "ServiceAccount", "namespace": namespace, "name": name}
    return {"kind": "User", "name": who}
