"""The real kube-scheduler and kube-controller-manager run the twin's cluster, unchanged."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client, config

from tests.patience import HANGS_SECONDS
from tests.real_api_server import ASSETS

PROGRAMS = ("kube-scheduler", "kube-controller-manager")
CONTROLLERS = (
    "deployment-controller,replicaset-controller,job-controller,statefulset-controller,daemonset-controller,"
    "cronjob-controller,disruption-controller,endpointslice-controller"
)
HARMLESS = re.compile(
    "manifest file is empty|not as new as written version|broadcaster already stopped|leaderelection lost"
)
"""What 1.36 says on a real server as well: no manifest of admission, a cache that is behind, an orderly end."""


def program(name: str) -> str | None:
    """Return where a program of Kubernetes is."""
    return shutil.which(name, path=os.environ.get(ASSETS, "")) or shutil.which(name)


pytestmark = [
    pytest.mark.twin,
    pytest.mark.skipif(
        not all(map(program, PROGRAMS)),
        reason=f"{' and '.join(PROGRAMS)} are neither on PATH nor in {ASSETS}",
    ),
]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A twin without scheduler and controllers, and the real ones on it; yields the folder of logs."""
    folder = tmp_path_factory.mktemp("own")
    command = [sys.executable, "-m", "twin", "--nodes", "3", "--workload", "idle"]
    command += ["--without", "scheduler,controller-manager", "--kubeconfig-dir", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as twin:
        assert twin.stdout is not None
        kubeconfig = json.loads(twin.stdout.readline())["admin_kubeconfig"]
        config.load_kube_config(kubeconfig)
        started = [_start(name, kubeconfig, folder) for name in PROGRAMS]
        try:
            yield folder
        finally:
            for process in started:
                process.terminate()
                process.wait(30)
            twin.terminate()


def _start(name: str, kubeconfig: str, folder: Path) -> subprocess.Popen[bytes]:
    words = [str(program(name)), "--secure-port=0", "--leader-elect=true"]
    words += [
        f"--{flag}={kubeconfig}"
        for flag in ("kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig")
    ]
    if name == "kube-controller-manager":
        words.append(f"--controllers={CONTROLLERS}")
    with (folder / f"{name}.log").open("wb") as log:
        return subprocess.Popen(words, stdout=log, stderr=log)


def until(what: Callable[[], Any]) -> Any:
    """Wait until something is so, and return it."""
    last = time.monotonic() + HANGS_SECONDS
    while time.monotonic() < last:
        if found := what():
            return found
        time.sleep(0.3)
    pytest.fail("it never came")


def template(cpu: str, *command: str, **spec: Any) -> dict[str, Any]:
    """Return a pod template."""
    container = {"name": "c", "image": "i:1", "resources": {"requests": {"cpu": cpu}}}
    if command:
        container["command"] = list(command)
    return {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container], **spec}}


def ready(count: int) -> Callable[[], bool]:
    """Return what says whether the Deployment `web` has so many ready replicas, all of them wanted."""

    def so() -> bool:
        status = client.AppsV1Api().read_namespaced_deployment("web", "default").status
        return (status.ready_replicas or 0) == count == (status.replicas or 0)

    return so


@pytest.mark.usefixtures("cluster")
def test_a_deployment_is_rolled_out_and_scaled() -> None:
    """By the real controllers, on the nodes that the real scheduler chose."""
    apps, core = client.AppsV1Api(), client.CoreV1Api()
    spec = {
        "replicas": 4,
        "selector": {"matchLabels": {"app": "web"}},
        "template": template("500m"),
    }
    apps.create_namespaced_deployment("default", {"metadata": {"name": "web"}, "spec": spec})
    until(ready(4))
    pods = core.list_namespaced_pod("default", label_selector="app=web").items
    assert all(pod.spec.node_name for pod in pods)
    assert len({pod.spec.node_name for pod in pods}) == 3  # spread over the nodes
    apps.patch_namespaced_deployment_scale("web", "default", {"spec": {"replicas": 2}})
    until(ready(2))
    by_real = core.list_namespaced_event("default", field_selector="reason=Scheduled").items
    assert {event.reporting_component for event in by_real} == {"default-scheduler"}


@pytest.mark.usefixtures("cluster")
def test_a_job_completes() -> None:
    """All its completions are counted once."""
    batch = client.BatchV1Api()
    spec = {"completions": 3, "template": template("100m", "sleep", "1", restartPolicy="Never")}
    batch.create_namespaced_job("default", {"metadata": {"name": "three"}, "spec": spec})
    status = until(lambda: _complete(batch))
    assert status.succeeded == 3


def _complete(batch: client.BatchV1Api) -> Any:
    status = batch.read_namespaced_job("three", "default").status
    return status if status.completion_time else None


@pytest.mark.usefixtures("cluster")
def test_a_pod_that_fits_nowhere_says_so() -> None:
    """The real scheduler's sentence is in its condition."""
    core = client.CoreV1Api()
    core.create_namespaced_pod("default", {"metadata": {"name": "big"}, **_spec_only("5000")})

    def sentence() -> str:
        conditions = core.read_namespaced_pod("big", "default").status.conditions or []
        return next((each.message for each in conditions if each.type == "PodScheduled"), "") or ""

    assert until(sentence).startswith("0/3 nodes are available: 3 Insufficient cpu.")


def _spec_only(cpu: str) -> dict[str, Any]:
    return {"spec": template(cpu)["spec"]}


def test_their_logs_hold_no_error_of_the_server(cluster: Path) -> None:
    """Nothing that they ask for is missing."""
    for name in PROGRAMS:
        lines = (cluster / f"{name}.log").read_text(encoding="utf-8").splitlines()
        bad = [line for line in lines if line[:1] in "EF" and not HARMLESS.search(line)]
        assert bad == []
