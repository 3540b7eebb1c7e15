"""Clusters behind a recorder: the embedded one over HTTP, and a real API server with its controllers
where the binaries are at hand.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import yaml

from tests.real_api_server import real_cluster_in
from tests.safety.recorder import kubeconfig_of, recording
from tests.safety.world import World, furnish
from twin.tests.contract.faces import OverHttp

NODES = 7
RIGHTS = Path(__file__).parents[2] / "deploy" / "rbac.yaml"
CONTROLLERS = (
    "deployment-controller,replicaset-controller,statefulset-controller,job-controller,"
    "cronjob-controller,garbage-collector-controller,namespace-controller"
)
PLURALS = {"Namespace": "namespaces", "ServiceAccount": "serviceaccounts"}


@pytest.fixture(scope="module")
def twin_world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Serve the embedded cluster, furnished, behind a recorder."""
    folder = tmp_path_factory.mktemp("twin")
    options = ("--nodes", str(NODES), "--workload", "idle", "--kubeconfig-dir", str(folder))
    command = [sys.executable, "-m", "twin", *options]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process,
        ExitStack() as stack,
    ):
        stack.callback(process.terminate)
        assert process.stdout is not None
        ready = json.loads(process.stdout.readline())
        face = OverHttp(Path(ready["admin_kubeconfig"]), "twin", simulated=True)
        stack.callback(face.close)
        recorder = stack.enter_context(recording(face))
        own = yaml.safe_load(Path(ready["executor_kubeconfig"]).read_text(encoding="utf-8"))
        token = own["users"][0]["user"]["token"]
        config = kubeconfig_of(folder / "recorded", recorder.url, token)
        world = World(face, recorder, config)
        listed = face.ask("GET", "/api/v1/nodes").body["items"]
        world.nodes = sorted(item["metadata"]["name"] for item in listed)
        furnish(world)
        yield world


@pytest.fixture(scope="module")
def real_world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Start a real API server with its controllers, furnished, behind a recorder; skip without one."""
    folder = tmp_path_factory.mktemp("real")
    with ExitStack() as stack:
        server = stack.enter_context(real_cluster_in(folder, CONTROLLERS))
        face = OverHttp(server.kubeconfig, "real", simulated=False)
        stack.callback(face.close)
        recorder = stack.enter_context(recording(face))
        world = World(face, recorder, folder / "recorded")
        _add_nodes(world)
        furnish(world)
        kubeconfig_of(world.kubeconfig, recorder.url, _account(world))
        yield world


@pytest.fixture(
    params=[
        pytest.param("twin", marks=pytest.mark.twin),
        pytest.param("real", marks=pytest.mark.slow),
    ],
    scope="module",
)
def world(request: pytest.FixtureRequest) -> World:
    """Return each furnished cluster in turn."""
    world: World = request.getfixturevalue(f"{request.param}_world")
    return world


@pytest.fixture(autouse=True)
def _forget(request: pytest.FixtureRequest) -> Iterator[None]:
    """Begin each test with an empty record."""
    if {"world", "twin_world", "real_world"} & set(request.fixturenames):
        name = next(
            one for one in ("world", "twin_world", "real_world") if one in request.fixturenames
        )
        recorder = request.getfixturevalue(name).recorder
        recorder.asked.clear()
        yield
        recorder.before = None
    else:
        yield


def _add_nodes(world: World) -> None:
    """Create nodes as plain objects that say they are ready."""
    for number in range(NODES):
        name = f"node-{number}"
        labels = {"kubernetes.io/hostname": name}
        body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}
        world.make("/api/v1/nodes", body)
        amounts = {"cpu": "8", "memory": "32Gi", "pods": "110"}
        ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
        status = {"allocatable": amounts, "capacity": amounts, "conditions": [ready]}
        world.change(f"/api/v1/nodes/{name}/status", {"status": status})
        world.nodes.append(name)


def _account(world: World) -> str:
    """Give the account of deploy/rbac.yaml its rights, in the shop and on nodes, and return its token."""
    for one in yaml.safe_load_all(RIGHTS.read_text(encoding="utf-8")):
        world.make(_path(one), one)
    account = {"kind": "ServiceAccount", "name": "foresail", "namespace": "foresail"}
    group = "rbac.authorization.k8s.io"
    for kind, role, path in (
        ("RoleBinding", "foresail-write", f"/apis/{group}/v1/namespaces/shop/rolebindings"),
        ("ClusterRoleBinding", "foresail-nodes", f"/apis/{group}/v1/clusterrolebindings"),
    ):
        body = {
            "apiVersion": f"{group}/v1",
            "kind": kind,
            "metadata": {"name": role},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": role},
            "subjects": [account],
        }
        world.make(path, body)
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    path = "/api/v1/namespaces/foresail/serviceaccounts/foresail/token"
    return str(world.make(path, asked)["status"]["token"])


def _path(manifest: dict[str, object]) -> str:
    version, kind = str(manifest["apiVersion"]), str(manifest["kind"])
    metadata = manifest["metadata"]
    assert isinstance(metadata, dict)
    group = "/api/v1" if version == "v1" else f"/apis/{version}"
    namespace = metadata.get("namespace")
    scope = f"/namespaces/{namespace}" if namespace else ""
    return f"{group}{scope}/{PLURALS.get(kind, kind.lower() + 's')}"
