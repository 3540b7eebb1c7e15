"""What `kubectl get nodepools,nodeclaims` shows are the columns of Karpenter's own definitions."""

from __future__ import annotations

import json
from typing import Any

import pytest

from twin.api.messages import Request, Response
from twin.api.router import Router
from twin.config import TwinConfig
from twin.config.provisioning import MachineType, ProvisioningConfig
from twin.engine import Engine

# pkg/apis/crds/karpenter.sh_{nodepools,nodeclaims}.yaml, additionalPrinterColumns; v1.13.0
SHOWN = {
    "nodepools": ["Name", "NodeClass", "Nodes", "Ready", "Age", "Weight", "CPU", "Memory"],
    "nodeclaims": ["Name", "Type", "Capacity", "Zone", "Node", "Ready", "Age", "ImageID", "ID",
                   "NodePool", "NodeClass", "Drifted"],
}  # fmt: skip


@pytest.fixture
def rows() -> dict[str, list[dict[str, Any]]]:
    """Return the cells by column of each kind, of a cluster that has rented one machine."""
    machine = MachineType("k2", 2_000, 8 * 2**30, 0.1, 0.03, zones=("b",))
    settings = ProvisioningConfig(provisioner="karpenter", machines=(machine,))
    engine = Engine(TwinConfig(provisioning=settings), seed=5)
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [container]}}
    engine.store.create("pods", "default", pod)
    engine.advance(engine.now + 200.0)
    router, found = Router(engine), {}
    for kind in SHOWN:
        path = f"/apis/karpenter.sh/v1/{kind}"
        accept = "application/json;as=Table;v=v1;g=meta.k8s.io"
        answer = router.handle(Request("GET", path, {}, {"accept": accept}, b""))
        raw = answer.body if isinstance(answer, Response) else b"".join(answer.chunks)  # type: ignore[union-attr]
        table = json.loads(raw)
        names = [column["name"] for column in table["columnDefinitions"]]
        found[kind] = [dict(zip(names, row["cells"], strict=True)) for row in table["rows"]]
    return found


def test_the_columns_are_karpenters(rows: dict[str, list[dict[str, Any]]]) -> None:
    """Names, order and values."""
    assert {kind: list(found[0]) for kind, found in rows.items()} == SHOWN
    (claim,) = rows["nodeclaims"]
    assert (claim["Type"], claim["Capacity"], claim["Zone"]) == ("k2", "spot", "b")
    assert (claim["Node"], claim["Ready"], claim["NodePool"]) == (claim["Name"], "True", "default")
    (pool,) = rows["nodepools"]
    assert (pool["Nodes"], pool["Ready"]) == (1, "True")
