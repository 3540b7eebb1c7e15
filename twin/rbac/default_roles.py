"""The Roles and bindings that an API server makes at its first start and that clients rely on.

Facts of Kubernetes 1.36 (kubernetes.io/docs/reference/access-authn-authz/rbac, "Default roles and role
bindings"); those of single controllers and of nodes are in `twin.rbac.control_plane_roles`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from twin.rbac.aggregation import aggregate_roles
from twin.rbac.attributes import AUTHENTICATED, GROUP, MASTERS, UNAUTHENTICATED
from twin.records import Object
from twin.store import Store

_SHORT = {
    "READ": "get list watch",
    "WRITE": "create delete deletecollection patch update",
    "CRUD": "create delete deletecollection get list patch update watch",
}
_FILE = Path(__file__).with_name("default_roles.txt")
"""A role begins with its name and what it is aggregated to; its rules are `verbs : groups : resources :
names`, or `verbs : paths`. `core` is the group without a name."""
_BINDINGS = (
    ("cluster-admin", "Group", (MASTERS,)),
    ("system:basic-user", "Group", (AUTHENTICATED,)),
    ("system:discovery", "Group", (AUTHENTICATED,)),
    ("system:public-info-viewer", "Group", (AUTHENTICATED, UNAUTHENTICATED)),
    ("system:monitoring", "Group", ("system:monitoring",)),
    ("system:service-account-issuer-discovery", "Group", ("system:serviceaccounts",)),
    ("system:kube-scheduler", "User", ("system:kube-scheduler",)),
    ("system:volume-scheduler", "User", ("system:kube-scheduler",)),
    ("system:kube-controller-manager", "User", ("system:kube-controller-manager",)),
)
_AGGREGATED = (("view", "edit"), ("edit", "admin"), ("admin", ""))
"""Roles that are made of others, with what each is a part of."""


def add_default_roles(store: Store) -> None:
    """Create them; raises ApiError 409 where they are there already."""
    for role in read_roles(_FILE):
        store.create("clusterroles", "", role)
    for name, above in _AGGREGATED:
        selector = {"matchLabels": {_aggregation_label(name): "true"}}
        rule = {"clusterRoleSelectors": [selector]}
        store.create("clusterroles", "", {**head_of(name, above), "aggregationRule": rule})
        aggregate_roles(store)
    for name, kind, subjects in _BINDINGS:
        reference = {"apiGroup": GROUP, "kind": "ClusterRole", "name": name}
        listed = [{"apiGroup": GROUP, "kind": kind, "name": subject} for subject in subjects]
        binding = {**head_of(name), "roleRef": reference, "subjects": listed}
        store.create("clusterrolebindings", "", binding)


def read_roles(file: Path) -> Iterator[Object]:
    """Yield the roles of a file as objects; `namespace/name` is the name of one in a namespace."""
    role: Object = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        if line.startswith(" "):
            role["rules"].append(_rule([part.split() for part in line.split(" : ")]))
            continue
        if role:
            yield role
        name, _, above = line.partition(" ")
        role = {**head_of(name, above), "rules": []}
    yield role


def _rule(parts: list[list[str]]) -> Object:
    verbs = _SHORT.get(parts[0][0], " ".join(parts[0])).split()
    if len(parts) == 2:
        return {"nonResourceURLs": parts[1], "verbs": verbs}
    groups = ["" if group == "core" else group for group in parts[1]]
    named = {"resourceNames": parts[3]} if len(parts) == 4 else {}
    return {"apiGroups": groups, "resources": parts[2], **named, "verbs": verbs}


def head_of(name: str, above: str = "") -> Object:
    """Return the metadata of a default role or binding; `above` is the role that it is aggregated to."""
    labels = {"kubernetes.io/bootstrapping": "rbac-defaults"}
    if above:
        labels[_aggregation_label(above)] = "true"
    annotations = {"rbac.authorization.kubernetes.io/autoupdate": "true"}
    return {"metadata": {"name": name, "labels": labels, "annotations": annotations}}


def _aggregation_label(name: str) -> str:
    return f"{GROUP}/aggregate-to-{name}"
