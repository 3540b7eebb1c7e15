"""Kueue's own controller manager on the twin: installed from its release's manifests, webhooks and visibility too."""

from __future__ import annotations

import base64
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from proofs.real_programs.processes import account_kubeconfig, beside, program, running
from proofs.real_programs.requests import Api, Object, Refused, until

NAME, MANIFESTS = "kueue", "kueue-manifests.yaml"
HOME, KUEUE = "kueue-system", "kueue.x-k8s.io/v1beta2"
ACCOUNT = "kueue-controller-manager"
LEASE = "c1f6bfd2.kueue.x-k8s.io"
SECRET = "kueue-webhook-server-cert"
WEBHOOKS, VISIBILITY = "kueue-webhook-service", "kueue-visibility-server"
ALLOWED = {
    r"secret is not well-formed, cannot update webhook configurations.*missing ca.crt": (
        "the release's Secret is empty until the program has filled it"
    ),
    r"workloads.kueue.x-k8s.io .* already exists": (
        "a second look at a Job reads a cache that lacks the Workload that the first one made, and is tried again; "
        "kube-apiserver 1.36.2 under the same load: 8 of 40 Jobs"
    ),
    r"WorkloadPriorityClass.kueue.x-k8s.io .* not found": "a case of the table is about a class that is not there",
    r"Skipping admission check controller setup: Provisioning Requests not supported": (
        "the ProvisioningRequest kinds are Cluster Autoscaler's to install; said on every cluster without them"
    ),
}
START_SECONDS = 120.0
_PLURALS = {
    "APIService": "apiservices",
    "ClusterRole": "clusterroles",
    "ClusterRoleBinding": "clusterrolebindings",
    "ConfigMap": "configmaps",
    "CustomResourceDefinition": "customresourcedefinitions",
    "MutatingWebhookConfiguration": "mutatingwebhookconfigurations",
    "Namespace": "namespaces",
    "Role": "roles",
    "RoleBinding": "rolebindings",
    "Secret": "secrets",
    "Service": "services",
    "ServiceAccount": "serviceaccounts",
    "ValidatingWebhookConfiguration": "validatingwebhookconfigurations",
}


@dataclass(frozen=True, slots=True)
class Ports:
    """Where the program listens."""

    webhooks: int
    visibility: int
    health: int


def install(api: Api, ports: Ports) -> None:
    """Apply the release's manifests but the Deployment: the program runs here, and two Services lead to it."""
    text = beside(NAME, MANIFESTS).read_text(encoding="utf-8")
    for obj in yaml.safe_load_all(text):
        if obj["kind"] == "Deployment":
            continue
        if obj["kind"] == "Service":
            del obj["spec"]["selector"]
        api.apply(_collection(obj), obj)
    for name, port in ((WEBHOOKS, ports.webhooks), (VISIBILITY, ports.visibility)):
        subset = {"addresses": [{"ip": "127.0.0.1"}], "ports": [{"port": port}]}
        where = f"/api/v1/namespaces/{HOME}/endpoints"
        api.ask("POST", where, {"metadata": {"name": name}, "subsets": [subset]})


def _collection(obj: Object) -> str:
    group, _, version = obj["apiVersion"].rpartition("/")
    place = obj["metadata"].get("namespace", "")
    inside = f"/namespaces/{place}" if place else ""
    root = f"/apis/{group}/{version}" if group else f"/api/{version}"
    return f"{root}{inside}/{_PLURALS[obj['kind']]}"


@contextmanager
def running_kueue(
    api: Api, folder: Path, ports: Ports, configuration: Object | None = None, **more: Any
) -> Iterator[Path]:
    """Run the controller manager with a part of its Configuration; yield its log once its webhooks answer."""
    folder.mkdir(exist_ok=True)
    certificates = folder / "certificates"
    certificates.mkdir(exist_ok=True)
    settings = {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "namespace": HOME,
        "health": {"healthProbeBindAddress": f"127.0.0.1:{ports.health}"},
        "metrics": {"bindAddress": "0"},
        "webhook": {"host": "127.0.0.1", "port": ports.webhooks, "certDir": str(certificates)},
        "visibilityServer": {"bindAddress": "127.0.0.1", "bindPort": ports.visibility},
        "leaderElection": {
            "leaderElect": True,
            "resourceName": LEASE,
            "resourceNamespace": HOME,
        },
        "integrations": {"frameworks": ["batch/job"]},
        **more,
        **(configuration or {}),
    }
    file = folder / "configuration.yaml"
    file.write_text(yaml.safe_dump(settings), encoding="utf-8")
    kubeconfig = account_kubeconfig(api, HOME, ACCOUNT, folder / "kubeconfig")
    command = [str(program(NAME)), f"--config={file}", f"--kubeconfig={kubeconfig}"]
    command += ["--zap-log-level=2"]
    log = folder / "kueue.log"
    with _mounted_secret(api, certificates), running(command, log) as process:
        until(
            "Kueue's webhooks",
            lambda: process.poll() is not None or _admits(api),
            START_SECONDS,
        )
        assert process.poll() is None, log.read_text(encoding="utf-8")[-2_000:]
        yield log


def _admits(api: Api) -> bool:
    """Say whether a ResourceFlavor may be made, which needs the webhooks, and the controllers look at queues."""
    flavor = {"apiVersion": KUEUE, "kind": "ResourceFlavor", "metadata": {"name": "probe"}}
    try:
        api.ask("POST", f"/apis/{KUEUE}/resourceflavors", {**flavor, "spec": {}}, dryRun="All")
        lease = api.find(f"/apis/coordination.k8s.io/v1/namespaces/{HOME}/leases/{LEASE}")
        return lease is not None and bool(lease["spec"].get("holderIdentity"))
    except Refused:
        return False


@contextmanager
def _mounted_secret(api: Api, folder: Path) -> Iterator[None]:
    """Copy the Secret of certificates into a folder whenever it changes, as a kubelet does for a mounted volume."""
    ended = threading.Event()

    def copy() -> None:
        known: Object = {}
        while not ended.wait(0.5):
            try:
                data = (
                    api.ask("GET", f"/api/v1/namespaces/{HOME}/secrets/{SECRET}").get("data") or {}
                )
            except (Refused, OSError):
                continue
            if data != known:
                for name, text in data.items():
                    part = folder / f"{name}.part"
                    part.write_bytes(base64.b64decode(text))
                    part.replace(folder / name)
                known = data

    thread = threading.Thread(target=copy, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
