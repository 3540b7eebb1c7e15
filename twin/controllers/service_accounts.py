"""Service accounts: `default` and the authority's certificate in every namespace, and pods that name one.

Upstream: pkg/controller/serviceaccount, pkg/controller/certificates/rootcacertpublisher and
plugin/pkg/admission/serviceaccount. Only with RBAC (`twin.config.access`).
"""

from __future__ import annotations

from twin.changes import Change
from twin.errors import forbidden
from twin.kinds import Kind
from twin.part import Part
from twin.records import Object, ObjectRecord
from twin.world import World

DEFAULT = "default"
ROOT_CERTIFICATE = "kube-root-ca.crt"
_MADE = {("serviceaccounts", DEFAULT), ("configmaps", ROOT_CERTIFICATE)}
_ABOUT = "kubernetes.io/description"
_DESCRIPTION = (
    "Contains the certificate of the authority by which programs in pods know the API server; the "
    "control plane keeps it."
)


class ServiceAccounts(Part):
    """Makes them, and is the gate that refuses pods of unknown ones."""

    KEEPS = ("_pending",)

    def __init__(self, world: World) -> None:
        """Follow the namespaces of a world."""
        self._world = world
        self._authority_pem = world.config.access.authority_pem
        self._pending: dict[str, None] = {}
        world.clock.handle("accounts.make", self._make)

    def follow(self, change: Change) -> None:
        """Plan what a namespace lacks: a new one everything, an older one what was changed in it."""
        record = change.record
        if change.resource == "namespaces":
            if change.type == "ADDED":
                self._plan(record.name)
        elif change.type != "ADDED" and (change.resource, record.name) in _MADE:
            self._plan(record.namespace)

    def prepare(self, kind: Kind, namespace: str, obj: Object) -> None:
        """Give a pod that names no account the default one."""
        del namespace
        if kind.resource == "pods":
            spec = obj.setdefault("spec", {})
            name = spec.get("serviceAccountName") or spec.get("serviceAccount") or DEFAULT
            spec["serviceAccountName"] = spec["serviceAccount"] = name

    def charge(
        self, kind: Kind, namespace: str, obj: Object, old: Object | None, *, dry_run: bool
    ) -> None:
        """Refuse a new pod of an unknown account with ApiError 403.

        The default account of a new namespace counts before it has been made.
        """
        del dry_run
        if kind.resource != "pods" or old is not None:
            return
        name = obj["spec"]["serviceAccountName"]
        if self._world.store.find("serviceaccounts", namespace, name) is None:
            if name == DEFAULT and namespace in self._pending:
                return
            pod = obj["metadata"].get("name", "")
            why = f'error looking up service account {namespace}/{name}: serviceaccount "{name}" not found'
            raise forbidden("pods", pod, why)

    def _plan(self, namespace: str) -> None:
        if namespace not in self._pending:
            self._pending[namespace] = None
            self._world.clock.after(0.0, "accounts.make", namespace)

    def _make(self, namespace: str) -> None:
        self._pending.pop(namespace, None)
        store = self._world.store
        home = store.find("namespaces", "", namespace)
        if home is None or home.deletion_at is not None:
            return
        if store.find("serviceaccounts", namespace, DEFAULT) is None:
            store.create("serviceaccounts", namespace, {"metadata": {"name": DEFAULT}})
        data = {"ca.crt": self._authority_pem}
        known = store.find("configmaps", namespace, ROOT_CERTIFICATE)
        if known is None:
            head = {"name": ROOT_CERTIFICATE, "annotations": {_ABOUT: _DESCRIPTION}}
            store.create("configmaps", namespace, {"metadata": head, "data": data})
        elif isinstance(known, ObjectRecord) and (
            known.body.get("data") != data or not known.annotations.get(_ABOUT)
        ):
            before = known.clone()
            known.body = {**known.body, "data": data}
            known.annotations = {**known.annotations, _ABOUT: _DESCRIPTION}
            store.touch("configmaps", known, before)
