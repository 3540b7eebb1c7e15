"""The Lease by which an API server says that it lives.

Source: kubernetes/kubernetes pkg/controlplane/instance.go and staging/src/k8s.io/component-helpers
apimachinery/lease at 1.36.
"""

from __future__ import annotations

import base64
import hashlib

from twin.names import object_uid
from twin.records import Object, ObjectRecord
from twin.timestamps import rfc3339_micro
from twin.world import World

HOST = "foresail-twin"
_HOME = "kube-system"
_SECONDS = 3_600
"""For how long a sign of life counts."""
_RENEW_SECONDS = 1_200.0
"""A real server renews every 10 s; a third of the time keeps a Lease as well, and a quiet cluster quiet."""


class ServerLease:
    """Keeps the Lease."""

    def __init__(self, world: World) -> None:
        """Be ready to renew it."""
        self._world = world
        digest = hashlib.sha256(f"{HOST}/{world.seed}".encode()).digest()[:16]
        self._name = f"apiserver-{base64.b32encode(digest).decode().rstrip('=').lower()}"
        world.clock.handle("lease.renew", self._renew)

    def begin(self) -> None:
        """Create it; kube-system has to be there."""
        labels = {
            "apiserver.kubernetes.io/identity": "kube-apiserver",
            "kubernetes.io/hostname": HOST,
        }
        lease: Object = {"metadata": {"name": self._name, "labels": labels}, "spec": self._spec()}
        self._world.store.create("leases", _HOME, lease)
        self._world.clock.after(_RENEW_SECONDS, "lease.renew")

    def _spec(self) -> Object:
        holder = object_uid(self._world.seed, "process", self._name)
        return {
            "holderIdentity": f"{self._name}_{holder}",
            "leaseDurationSeconds": _SECONDS,
            "renewTime": rfc3339_micro(self._world.now),
        }

    def _renew(self) -> None:
        store = self._world.store
        known = store.find("leases", _HOME, self._name)
        if known is None:
            self.begin()
            return
        assert isinstance(known, ObjectRecord)
        before = known.clone()
        known.body = {**known.body, "spec": self._spec()}
        store.touch("leases", known, before)
        self._world.clock.after(_RENEW_SECONDS, "lease.renew")
