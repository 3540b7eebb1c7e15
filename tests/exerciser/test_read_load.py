"""What the exerciser counts as nodes to load."""

from __future__ import annotations

import json

import pytest

from services.exerciser.cluster import read_load
from services.twin_transport import TwinTransport
from twin.port.api import InProcessTwin
from twin.port.engine import Engine
from twin.port.workloads import open_workload

ROLE = "node-role.kubernetes.io/control-plane"
TAINT = {"key": "node-role.kubernetes.io/master", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    "patch", [{"metadata": {"labels": {ROLE: ""}}}, {"spec": {"taints": [TAINT]}}]
)
async def test_the_control_plane_is_not_loaded(patch: dict[str, object]) -> None:
    """Of three nodes the one of the control plane is left out."""
    engine = Engine(None, 1)
    engine.add_nodes(open_workload("idle", nodes=3, seed=1).nodes)
    engine.advance(engine.now + 30)
    twin = InProcessTwin(engine)
    names = [load.name for load in (await read_load(TwinTransport(twin))).nodes]
    body = json.dumps(patch).encode()
    kind = "application/merge-patch+json"
    status, answer = twin.request("PATCH", f"/api/v1/nodes/{names[0]}", {}, body, kind)
    assert status == 200, answer

    assert [node.name for node in (await read_load(TwinTransport(twin))).nodes] == names[1:]
    assert len(names) == 3
