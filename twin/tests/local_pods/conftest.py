"""A served twin that runs commands, and pods of the image foresail:local on it."""

from __future__ import annotations

import json
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
import yaml
from kubernetes import client, config

from tests.patience import HANGS_SECONDS

Object = dict[str, Any]


@dataclass
class LocalTwin:
    """One twin process; `start` it, also again after `kill`."""

    folder: Path
    options: tuple[str, ...] = ()
    process: subprocess.Popen[str] | None = None
    core: client.CoreV1Api = field(init=False)
    batch: client.BatchV1Api = field(init=False)
    ready: dict[str, str] = field(init=False)

    def start(self) -> None:
        """Start it and wait until it serves."""
        command = [
            sys.executable,
            "-m",
            "twin",
            "--nodes",
            "3",
            "--workload",
            "idle",
            "--seed",
            "4",
        ]
        command += ["--kubeconfig-dir", str(self.folder), *self.options]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert self.process.stdout is not None
        self.ready = json.loads(self.process.stdout.readline())
        api = config.new_client_from_config(self.ready["admin_kubeconfig"])
        self.core, self.batch = client.CoreV1Api(api), client.BatchV1Api(api)

    def end(self, *, kill: bool = False) -> None:
        """Stop it, or kill it."""
        if self.process is not None:
            (self.process.kill if kill else self.process.terminate)()
            self.process.communicate(timeout=HANGS_SECONDS)

    def create(self, name: str, container: Mapping[str, Any], **spec: Any) -> None:
        """Create a pod with one container of the local image."""
        one = {"name": "main", "image": "foresail:local", **container}
        body = {"restartPolicy": "Never", "containers": [one], **spec}
        self.core.create_namespaced_pod("default", {"metadata": {"name": name}, "spec": body})

    def python(self, name: str, code: str, container: Object | None = None, **spec: Any) -> None:
        """Create a pod that runs Python code."""
        self.create(name, {"command": ["python", "-c", code], **(container or {})}, **spec)

    def pod(self, name: str) -> Any:
        """Return a pod as it is now; None when it is gone."""
        with suppress(client.ApiException):
            return self.core.read_namespaced_pod(name, "default")
        return None

    def log(self, name: str, **options: Any) -> str:
        """Return a pod's log."""
        text: str = self.core.read_namespaced_pod_log(name, "default", **options)
        return text

    def ended(self, name: str) -> Any:
        """Return the terminated state of a pod's container once the pod has ended."""

        def state() -> Any:
            pod = self.pod(name)
            if pod is None or pod.status.phase not in ("Succeeded", "Failed"):
                return None
            return pod.status.container_statuses[0].state.terminated

        return until(state)

    def state(self) -> tuple[float, str]:
        """Return the twin's cluster time, unix seconds, and the hash of its state then."""
        with urlopen(self._request("/foresail/v1/state"), context=self._tls()) as answer:
            content = json.load(answer)
        return float(content["now"]), str(content["hash"])

    def _request(self, path: str) -> Request:
        text = Path(self.ready["admin_kubeconfig"]).read_text(encoding="utf-8")
        token = yaml.safe_load(text)["users"][0]["user"]["token"]
        headers = {"authorization": f"Bearer {token}"}
        return Request(f"{self.ready['address']}{path}", headers=headers)

    def _tls(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=self.core.api_client.configuration.ssl_ca_cert)


@pytest.fixture(scope="module")
def local_twin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalTwin]:
    """A twin that runs commands, shared by a file of tests."""
    options = ("--run-commands", "true", "--authorization", "rbac")
    twin = LocalTwin(tmp_path_factory.mktemp("local"), options)
    twin.start()
    try:
        yield twin
    finally:
        twin.end()


@pytest.fixture
def own_twin(tmp_path: Path) -> Iterator[LocalTwin]:
    """A twin with a journal, to be killed and started again."""
    twin = LocalTwin(tmp_path, ("--run-commands", "true", "--journal", str(tmp_path / "journal")))
    try:
        yield twin
    finally:
        twin.end()


def until(what: Callable[[], Any]) -> Any:
    """Wait until something is so, and return it."""
    last = time.monotonic() + HANGS_SECONDS
    while time.monotonic() < last:
        found = what()
        if found:
            return found
        time.sleep(0.1)
    pytest.fail("it never came")


def alive(pid: int) -> bool:
    """Say whether a process runs."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"
