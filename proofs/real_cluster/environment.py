"""A real control plane with an audit log, nodes and pods, and accounts with the rights that `foresail rbac` prints."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from bus.clock import SystemClock
from lab.fidelity.real.metrics_server import MetricsServer
from lab.fidelity.real.processes import CONTROL_PLANE, ControlPlane
from proofs.real_cluster.audit import AuditLog
from proofs.real_cluster.kubelets import Kubelets
from proofs.real_cluster.population import SHOP, WRITABLE, Size, populate
from proofs.real_programs.grounds import front_proxy_flags
from proofs.real_programs.processes import ASSETS, program
from proofs.real_programs.requests import Api, Object, until
from schemas.actions import ActionKind
from services.rights.installation import ACCOUNTS, Grants, manifests

HOME = "foresail"
KINDS = tuple(kind.value for kind in ActionKind if kind is not ActionKind.NOOP)
_PLURALS = {"Namespace": "namespaces", "ServiceAccount": "serviceaccounts"}
_NUMBERS = itertools.count(1)
_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "omitManagedFields": True,
    "rules": [
        {
            "level": "Request",
            "users": [f"system:serviceaccount:{HOME}:{name}" for name in ACCOUNTS.values()],
        },
        {"level": "Metadata", "verbs": ["create", "update", "patch", "delete", "deletecollection"]},
        {"level": "None"},
    ],
}


@dataclass(frozen=True, slots=True)
class RealCluster:
    """A cluster, and everything that a case may do to it."""

    plane: ControlPlane
    api: Api
    """Its administrator."""
    kubelets: Kubelets
    audit: AuditLog
    versions: Mapping[str, str]
    size: Size

    def account(self, process: str, token: Token) -> Path:
        """Write a kubeconfig whose token is read from a file."""
        path = self.plane.folder / f"{process}.kubeconfig"
        content = yaml.safe_load(self.plane.kubeconfig.read_text(encoding="utf-8"))
        content["users"][0]["user"] = {"tokenFile": str(token.file)}
        path.write_text(yaml.safe_dump(content), encoding="utf-8")
        return path


class Token:
    """A token of a service account in a file of its own, bound to a Secret, so that it can be revoked."""

    def __init__(self, api: Api, account: str, file: Path) -> None:
        """Ask for the first one."""
        self._api, self._account, self.file = api, account, file
        self._bound = ""
        self.renew()

    def renew(self) -> str:
        """Write a new token into the file; return the name of the Secret that the one before is bound to."""
        before, self._bound = self._bound, f"{self._account}-{next(_NUMBERS)}"
        secrets = f"/api/v1/namespaces/{HOME}/secrets"
        uid = self._api.ask("POST", secrets, {"metadata": {"name": self._bound}})["metadata"]["uid"]
        bound = {"apiVersion": "v1", "kind": "Secret", "name": self._bound, "uid": uid}
        asked = {"spec": {"expirationSeconds": 7_200, "boundObjectRef": bound}}
        path = f"/api/v1/namespaces/{HOME}/serviceaccounts/{self._account}/token"
        token = self._api.ask("POST", path, asked)["status"]["token"]
        self.file.touch(mode=0o600)
        self.file.write_text(token, encoding="utf-8")
        return before

    def revoke(self, bound: str = "") -> None:
        """Delete the Secret of a token (empty: of the newest): the server refuses it from then on."""
        self._api.remove(f"/api/v1/namespaces/{HOME}/secrets/{bound or self._bound}")


@contextmanager
def real_cluster(folder: Path, size: Size) -> Iterator[RealCluster]:
    """Start everything and wait until every pod runs.

    Raises:
        Missing: a program is not on this machine.
    """
    for name in CONTROL_PLANE:
        program(name)
    folder.mkdir(parents=True, exist_ok=True)
    policy, log = folder / "audit-policy.yaml", folder / "audit.log"
    policy.write_text(yaml.safe_dump(_POLICY), encoding="utf-8")
    flags = (f"--audit-policy-file={policy}", f"--audit-log-path={log}", "--audit-log-maxsize=2000")
    place = folder / "control-plane"
    assets = Path(os.environ.get(ASSETS, ""))
    plane = ControlPlane(
        assets, place, ("*",), accounts=True, server_flags=(*front_proxy_flags(folder), *flags)
    )
    with ExitStack() as stack:
        stack.callback(plane.close)
        cluster = asyncio.run(plane.start(SystemClock()))
        stack.callback(cluster.close)
        api = Api(plane.kubeconfig)
        metrics = MetricsServer(place / "certificates")
        stack.callback(metrics.close)
        metrics.register(cluster)
        kubelets = Kubelets(cluster, metrics)
        kubelets.start()
        stack.callback(kubelets.end)
        populate(api, size)
        _install(api)
        until("pod metrics", lambda: _items(api, "/apis/metrics.k8s.io/v1beta1/pods"), 180)
        versions = {name: plane.version(name) for name in CONTROL_PLANE}
        yield RealCluster(plane, api, kubelets, AuditLog(log), versions, size)


def _items(api: Api, path: str) -> list[Object]:
    return api.items(path) if api.serves(path) else []


def _install(api: Api) -> None:
    """Make the accounts and Roles of an installation that may do every kind of action in one namespace."""
    api.ask("POST", "/api/v1/namespaces", {"metadata": {"name": HOME}})
    grants = Grants(actions=KINDS, namespaces=(SHOP,), writable_nodes=f"{WRITABLE}=true", home=HOME)
    for manifest in manifests(grants):
        api.ask("POST", _collection(manifest), json.loads(json.dumps(manifest)))


def _collection(manifest: dict[str, Any]) -> str:
    version, kind = manifest["apiVersion"], manifest["kind"]
    namespace = manifest["metadata"].get("namespace")
    group = "/api/v1" if version == "v1" else f"/apis/{version}"
    inside = f"/namespaces/{namespace}" if namespace else ""
    return f"{group}{inside}/{_PLURALS.get(kind, kind.lower() + 's')}"
