"""Kueue's own controller manager on the twin: installed from its release's manifests, webhooks and visibility too."""

from __future__ import annotations

import base64
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from proofs.real_programs.cluster import Cluster
from proofs.real_programs.grounds import Ground, twin_ground
from proofs.real_programs.log_lines import allowed_of
from proofs.real_programs.processes import (
    Command,
    Supervised,
    account_kubeconfig,
    beside,
    free_port,
    program,
    running_twin,
    supervised,
)
from proofs.real_programs.requests import Api, Object, Refused, until

NAME, MANIFESTS = "kueue", "kueue-manifests.yaml"
HOME, KUEUE = "kueue-system", "kueue.x-k8s.io/v1beta2"
ACCOUNT = "kueue-controller-manager"
LEASE = "c1f6bfd2.kueue.x-k8s.io"
SECRET = "kueue-webhook-server-cert"
WEBHOOKS, VISIBILITY = "kueue-webhook-service", "kueue-visibility-server"
ALLOWED = allowed_of("kueue")
START_SECONDS = 900.0
_LEASE_TIMES = {"leaseDuration": "90s", "renewDeadline": "60s", "retryPeriod": "5s"}
"""Longer than the defaults: it ends when a busy machine lets it renew too late."""
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


def install(api: Api, ports: Ports, *, by_name: bool = False) -> None:
    """Apply the release's manifests but the Deployment: the program runs here, and two Services lead to it.

    A twin finds it by Endpoints of loopback. A real server refuses such: there (`by_name`) the Services are names of
    this machine, and whoever calls one says the port.
    """
    text = beside(NAME, MANIFESTS).read_text(encoding="utf-8")
    for obj in yaml.safe_load_all(text):
        if obj["kind"] == "Deployment":
            continue
        if obj["kind"] == "Service" and by_name:
            obj["spec"] = {"type": "ExternalName", "externalName": "localhost"}
        elif obj["kind"] == "Service":
            del obj["spec"]["selector"]
        if by_name:
            _set_ports(obj, ports)
        api.apply(_collection(obj), obj)
    if by_name:
        return
    for name, port in ((WEBHOOKS, ports.webhooks), (VISIBILITY, ports.visibility)):
        subset = {"addresses": [{"ip": "127.0.0.1"}], "ports": [{"port": port}]}
        where = f"/api/v1/namespaces/{HOME}/endpoints"
        api.ask("POST", where, {"metadata": {"name": name}, "subsets": [subset]})


def _set_ports(value: Any, ports: Ports) -> None:
    """Write the program's ports wherever an object names one of the two Services."""
    for key, one in enumerate(value) if isinstance(value, list) else value.items():
        if key == "service" and one.get("name") in (WEBHOOKS, VISIBILITY):
            one["port"] = ports.webhooks if one["name"] == WEBHOOKS else ports.visibility
        elif isinstance(one, dict | list):
            _set_ports(one, ports)


def _collection(obj: Object) -> str:
    group, _, version = obj["apiVersion"].rpartition("/")
    place = obj["metadata"].get("namespace", "")
    inside = f"/namespaces/{place}" if place else ""
    root = f"/apis/{group}/{version}" if group else f"/api/{version}"
    return f"{root}{inside}/{_PLURALS[obj['kind']]}"


@contextmanager
def real(folder: Path, ground: Ground = twin_ground) -> Iterator[tuple[Cluster, list[Path]]]:
    """Run it on a cluster; on a twin it can be restarted there. Yield the cluster and the program's log."""
    program(NAME), beside(NAME, MANIFESTS)
    first = Ports(free_port(), free_port(), free_port())
    given = [first]

    def ports() -> Ports:
        """Return ports of its own for each one that is started."""
        taken = given[-1]
        given.append(Ports(free_port(), free_port(), free_port()))
        return taken

    with ground(folder) as api:
        by_name = api.restart_server is None  # a real server: its clients know one port for good
        install(api, first, by_name=by_name)
        lead = None if by_name else partial(_lead_to_newest, api, given)
        where = (lambda: first) if by_name else ports
        with _supervised(api, folder / "program", where, None, lead) as (one, log):
            cluster = Cluster(api, "kubernetes.io/hostname")
            cluster.programs.append(one)
            yield cluster, [log]


@contextmanager
def built_in(folder: Path) -> Iterator[tuple[Cluster, list[Path]]]:
    """Run a twin whose own queues do its work."""
    with running_twin(folder, "--nodes", "1", "--kueue", "on") as api:
        yield Cluster(api, "kubernetes.io/hostname"), [folder / "twin.log"]


@contextmanager
def _supervised(
    api: Api,
    folder: Path,
    ports: Callable[[], Ports],
    configuration: Object | None,
    turn: Callable[[], None] | None = None,
) -> Iterator[tuple[Supervised, Path]]:
    folder.mkdir(exist_ok=True)
    certificates = folder / "certificates"
    certificates.mkdir(exist_ok=True)
    kubeconfig = account_kubeconfig(api, HOME, ACCOUNT, folder / "kubeconfig")

    def make() -> Command:
        own = ports()
        settings = {**_settings(own, certificates), **(configuration or {})}
        file = folder / f"configuration-{own.webhooks}.yaml"
        file.write_text(yaml.safe_dump(settings), encoding="utf-8")
        words = [str(program(NAME)), f"--config={file}", f"--kubeconfig={kubeconfig}"]
        return [*words, "--zap-log-level=2"], {}

    log = folder / "kueue.log"
    with _mounted_secret(api, certificates), supervised(make, log, turn) as one:
        until(
            "Kueue's webhooks",
            lambda: one.deaths > 0 or _admits(api),
            START_SECONDS,
        )
        assert not one.deaths, log.read_text(encoding="utf-8")[-2_000:]
        yield one, log


def _settings(ports: Ports, certificates: Path) -> Object:
    return {
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
            **_LEASE_TIMES,
        },
        "integrations": {"frameworks": ["batch/job"]},
    }


def _lead_to_newest(api: Api, given: list[Ports]) -> None:
    """Let the Services lead to the newest program's ports, as their controller would; the last are the next one's."""
    ports = given[-2]
    for name, port in ((WEBHOOKS, ports.webhooks), (VISIBILITY, ports.visibility)):
        subset = {"addresses": [{"ip": "127.0.0.1"}], "ports": [{"port": port}]}
        path = f"/api/v1/namespaces/{HOME}/endpoints/{name}"
        api.ask("PATCH", path, {"subsets": [subset]})


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
