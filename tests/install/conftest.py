"""A cluster with RBAC, and on it the accounts of an installation with exactly the rights that are printed."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from services.rights import Right
from services.rights.installation import ACCOUNTS, RBAC, Grants, manifests
from twin.tests.contract.faces import JSON_PATCH, MERGE, OverHttp

POOL = "pool=shop"
EVERY_KIND = (
    *("admission", "dvfs", "memory_balloon", "migrate"),
    *("power_state", "replicate", "resource_cap", "throttle"),
)
GRANTS = Grants(actions=EVERY_KIND, namespaces=("shop",), writable_nodes=POOL)
PLURALS = {
    "ServiceAccount": "serviceaccounts",
    "ClusterRole": "clusterroles",
    "ClusterRoleBinding": "clusterrolebindings",
    "Role": "roles",
    "RoleBinding": "rolebindings",
}


def path_of(manifest: dict[str, Any]) -> str:
    """Return where objects of a manifest's kind are made."""
    version, namespace = manifest["apiVersion"], manifest["metadata"].get("namespace")
    group = "/api/v1" if version == "v1" else f"/apis/{version}"
    return f"{group}{f'/namespaces/{namespace}' if namespace else ''}/{PLURALS[manifest['kind']]}"


@dataclass
class Installed:
    """The cluster and its accounts."""

    face: OverHttp
    admin: Path
    folder: Path
    audit_log: Path

    def make(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Create an object, which may be there already."""
        answer = self.face.ask("POST", path, body=body)
        assert answer.status in {200, 201, 409}, answer.text
        return dict(answer.body)

    def change(self, path: str, patch: dict[str, Any]) -> None:
        """Merge a patch into an object."""
        answer = self.face.ask("PATCH", path, body=patch, content_type=MERGE)
        assert answer.status == 200, answer.text

    def kubeconfig(self, process: str) -> Path:
        """Return the way in of a process' account."""
        account = ACCOUNTS[process]
        asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        made = self.make(f"/api/v1/namespaces/foresail/serviceaccounts/{account}/token", asked)
        content = yaml.safe_load(self.admin.read_text(encoding="utf-8"))
        content["users"][0]["user"] = {"token": made["status"]["token"]}
        file = self.folder / f"{process}-account.kubeconfig"
        file.write_text(yaml.safe_dump(content), encoding="utf-8")
        return file

    def roles(self) -> list[dict[str, Any]]:
        """Return the roles as they were granted."""
        return [one for one in manifests(GRANTS) if one["kind"].endswith("Role")]

    def set_rules(self, role: dict[str, Any], rules: list[dict[str, Any]]) -> None:
        """Give a role other rules."""
        path = f"{path_of(role)}/{role['metadata']['name']}"
        patch = [{"op": "replace", "path": "/rules", "value": rules}]
        answer = self.face.ask("PATCH", path, body=patch, content_type=JSON_PATCH)
        assert answer.status == 200, answer.text

    def asked_by(self, process: str) -> set[tuple[str, str, str, int]]:
        """Return verb, group, resource and answer of what a process asked for, from the audit log."""
        user = f"system:serviceaccount:foresail:{ACCOUNTS[process]}"
        found = set()
        for line in self.audit_log.read_text(encoding="utf-8").splitlines():
            event = json.loads(line)
            named = event.get("objectRef") or {}
            if event["user"]["username"] == user and named.get("resource"):
                parts = filter(None, (named["resource"], named.get("subresource")))
                code = int(event.get("responseStatus", {}).get("code", 0))
                found.add((event["verb"], named.get("apiGroup", ""), "/".join(parts), code))
        return found


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    """Serve the embedded cluster with RBAC and an audit log, and grant what `foresail rbac` prints."""
    folder = tmp_path_factory.mktemp("installed")
    log = folder / "audit.jsonl"
    options = ["--nodes", "4", "--workload", "idle", "--seed", "3", "--speed", "20"]
    options += ["--authorization", "rbac", "--audit-log", str(log)]
    command = [sys.executable, "-m", "twin", *options, "--kubeconfig-dir", str(folder)]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process,
        ExitStack() as stack,
    ):
        stack.callback(process.terminate)
        assert process.stdout is not None
        ready = json.loads(process.stdout.readline())
        admin = Path(ready["admin_kubeconfig"])
        face = OverHttp(admin, "twin", simulated=True)
        stack.callback(face.close)
        cluster = Installed(face, admin, folder, log)
        for name in ("foresail", "shop"):
            body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            cluster.make("/api/v1/namespaces", body)
        for manifest in manifests(GRANTS):
            cluster.make(path_of(manifest), manifest)
        yield cluster


def without(rules: list[dict[str, Any]], right: Right) -> list[dict[str, Any]]:
    """Return a role's rules without one right."""
    kept = []
    for rule in rules:
        about = rule["apiGroups"] == [right.group] and right.resource in rule["resources"]
        if not about or rule.get("resourceNames", []) != list(right.names):
            kept.append(rule)
            continue
        others = [one for one in rule["resources"] if one != right.resource]
        verbs = [one for one in rule["verbs"] if one != right.verb]
        kept += [{**rule, "resources": others}] if others else []
        kept += [{**rule, "resources": [right.resource], "verbs": verbs}] if verbs else []
    return kept


__all__ = ["EVERY_KIND", "GRANTS", "POOL", "RBAC", "Installed", "path_of", "without"]
