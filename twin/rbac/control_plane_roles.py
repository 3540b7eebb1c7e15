"""The Roles and bindings of nodes, single controllers and other parts of a control plane.

A real API server makes them at its first start. Here nobody acts by them, since these parts run inside the
simulation; they are there for those who list them or bind to them. Facts of Kubernetes 1.36
(plugin/pkg/auth/authorizer/rbac/bootstrappolicy).
"""

from __future__ import annotations

from pathlib import Path

from twin.rbac.attributes import GROUP
from twin.rbac.default_roles import head_of, read_roles
from twin.records import Object
from twin.store import Store

_FILE = Path(__file__).with_name("control_plane_roles.txt")
"""As `default_roles.txt`."""
_SYSTEM = "kube-system"
_CONTROLLER = "system:controller:"
_ACCOUNTS: dict[str, tuple[str, ...]] = {
    "system:kube-dns": ("kube-dns",),
    "system::leader-locking-kube-controller-manager": ("kube-controller-manager", "leader-election-controller"),
    "system::leader-locking-kube-scheduler": ("kube-scheduler",),
}  # fmt: skip
"""Service accounts of kube-system by the role that they have; a controller's role is its account's name."""
_USERS = {
    "system:node-proxier": "system:kube-proxy",
    "system::leader-locking-kube-controller-manager": "system:kube-controller-manager",
    "system::leader-locking-kube-scheduler": "system:kube-scheduler",
}
_BOUND_TO_NOBODY = "system:node"


def add_control_plane_roles(store: Store) -> None:
    """Create them; the first namespaces have to be there."""
    for role in read_roles(_FILE):
        namespace, _, name = role["metadata"]["name"].rpartition("/")
        role["metadata"]["name"] = name
        store.create("roles" if namespace else "clusterroles", namespace, role)
        subjects = _subjects(name)
        if subjects or name == _BOUND_TO_NOBODY:
            _bind(store, namespace, name, subjects)


def _subjects(name: str) -> list[Object]:
    users = [_USERS[name]] if name in _USERS else []
    accounts = _ACCOUNTS.get(name, ())
    if name.startswith(_CONTROLLER):
        accounts = (name.removeprefix(_CONTROLLER),)
    return [{"apiGroup": GROUP, "kind": "User", "name": user} for user in users] + [
        {"kind": "ServiceAccount", "name": account, "namespace": _SYSTEM} for account in accounts
    ]


def _bind(store: Store, namespace: str, name: str, subjects: list[Object]) -> None:
    kind = "Role" if namespace else "ClusterRole"
    binding = {**head_of(name), "roleRef": {"apiGroup": GROUP, "kind": kind, "name": name}}
    if subjects:
        binding["subjects"] = subjects
    store.create("rolebindings" if namespace else "clusterrolebindings", namespace, binding)
