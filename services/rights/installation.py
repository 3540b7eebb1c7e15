"""The rights of an installation: of each process that touches the API server, as rows and as manifests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from schemas.actions import ActionKind
from services.rights import Right, RightScope
from services.rights.collector import RIGHTS as COLLECTOR_RIGHTS
from services.rights.executor import read_rights, write_rights
from services.rights.logins import RIGHTS as LOGINS_RIGHTS

Manifest = dict[str, Any]
RBAC = "rbac.authorization.k8s.io"
ACCOUNTS = {
    "collector": "foresail-collector",
    "executor": "foresail-executor",
    "logins": "foresail-logins",
}
"""Service account of each process that has any rights; all others have no token at all."""
LABELS = {"app.kubernetes.io/part-of": "foresail"}


@dataclass(frozen=True, slots=True)
class Grants:
    """Rights of an installation."""

    actions: tuple[str, ...] = ()
    """Kinds of action; none: shadow mode."""
    namespaces: tuple[str, ...] = ()
    """Exact names of the namespaces that they may write in."""
    writable_nodes: str = ""
    """Label of the nodes that they may write; empty: none. RBAC cannot choose nodes, the executor does."""
    hand_back: str = "none"
    home: str = "foresail"
    """The namespace that the processes run in."""
    object_events: bool = False
    """Whether the executor writes events on what it has changed."""
    node_limits: str = "kubernetes"
    """As the executor's setting."""


def granted_rights(grants: Grants) -> Mapping[str, tuple[Right, ...]]:
    """Return the rights of each process that has any."""
    kinds = [ActionKind(word) for word in grants.actions]
    executor = (*read_rights(grants, kinds), *write_rights(kinds, grants))
    return {"collector": COLLECTOR_RIGHTS, "executor": executor, "logins": LOGINS_RIGHTS}


def manifests(grants: Grants, process: str | None = None) -> list[Manifest]:
    """Return service accounts, roles and bindings, of one process if asked."""
    made: list[Manifest] = []
    for name, rights in granted_rights(grants).items():
        if process in {None, name}:
            made.append(account_manifest(ACCOUNTS[name], grants.home))
            for place in RightScope:
                here = [right for right in rights if right.place is place]
                made += role_manifests(ACCOUNTS[name], place, rules_of(here), grants)
    return made


def account_manifest(name: str, home: str) -> Manifest:
    """Return a service account whose token no pod gets unless it asks for it."""
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": name, "namespace": home, "labels": LABELS},
        "automountServiceAccountToken": False,
    }


def role_manifests(
    account: str, place: RightScope, rules: Sequence[Manifest], grants: Grants
) -> list[Manifest]:
    """Return the role of an account's rights of one place, and where it is bound."""
    if not rules:
        return []
    homes: tuple[str, ...]
    if place is RightScope.OWN:
        kind, cluster_wide, homes = "Role", False, (grants.home,)
    elif place is RightScope.NAMED:
        kind, cluster_wide, homes = "ClusterRole", False, grants.namespaces
    else:
        kind, cluster_wide, homes = "ClusterRole", True, ("",)
    name = {RightScope.NAMED: f"{account}-write", RightScope.NODES: f"{account}-nodes"}.get(
        place, account
    )
    inside = {"namespace": grants.home} if kind == "Role" else {}
    role = {
        "apiVersion": f"{RBAC}/v1",
        "kind": kind,
        "metadata": {"name": name, **inside, "labels": LABELS},
        "rules": list(rules),
    }
    return [
        role,
        *(
            binding(name, kind, account, grants.home, "" if cluster_wide else home)
            for home in homes
        ),
    ]


def binding(role: str, kind: str, account: str, home: str, namespace: str) -> Manifest:
    """Return what binds a role to an account, in one namespace or, where that is empty, in all."""
    inside = {"namespace": namespace} if namespace else {}
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": "RoleBinding" if namespace else "ClusterRoleBinding",
        "metadata": {"name": role, **inside, "labels": LABELS},
        "roleRef": {"apiGroup": RBAC, "kind": kind, "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": home}],
    }


def rules_of(rights: Iterable[Right]) -> list[dict[str, Any]]:
    """Return rights as a Role's rules, those with the same verbs together, in a fixed order."""
    verbs: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for right in rights:
        seen = verbs.setdefault((right.group, right.resource, right.names), [])
        if right.verb not in seen:
            seen.append(right.verb)
    together: dict[tuple[str, tuple[str, ...], tuple[str, ...]], list[str]] = {}
    for (group, resource, names), own in sorted(verbs.items()):
        together.setdefault((group, tuple(sorted(own)), names), []).append(resource)
    rules = []
    for (group, allowed, names), resources in together.items():
        rule: dict[str, Any] = {
            "apiGroups": [group],
            "resources": sorted(resources),
            "verbs": list(allowed),
        }
        rules.append({**rule, "resourceNames": list(names)} if names else rule)
    return rules
