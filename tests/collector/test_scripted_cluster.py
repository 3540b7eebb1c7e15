"""The scripted answers of these tests page as the embedded cluster does, which is held to a real server."""

from __future__ import annotations

import json
from typing import Any, Protocol

import pytest

from tests.collector.scripted_cluster import PATHS, ScriptedCluster, node
from twin.port.api import InProcessTwin
from twin.port.engine import Engine
from twin.port.workloads import open_workload

NODES = 5


class Cluster(Protocol):
    """What both are asked by."""

    def request(
        self, method: str, path: str, query: dict[str, str], body: bytes
    ) -> tuple[int, bytes]:
        """Answer one request."""
        ...


def scripted() -> Cluster:
    """Return five scripted nodes."""
    return ScriptedCluster(nodes=[node(f"n{number}") for number in range(NODES)])


def embedded() -> Cluster:
    """Return five simulated nodes."""
    engine = Engine(None, 1)
    engine.add_nodes(open_workload("idle", nodes=NODES, seed=1).nodes)
    return InProcessTwin(engine)


def pages(cluster: Cluster, limit: int) -> list[dict[str, Any]]:
    """Return every page of the nodes."""
    read: list[dict[str, Any]] = []
    query = {"limit": str(limit)}
    while not read or query["continue"]:
        status, body = cluster.request("GET", PATHS["nodes"], query, b"")
        assert status == 200
        read.append(json.loads(body))
        query["continue"] = read[-1]["metadata"].get("continue", "")
    return read


@pytest.mark.parametrize("cluster", [scripted, embedded])
@pytest.mark.parametrize(("limit", "sizes"), [(2, [2, 2, 1]), (5, [5]), (500, [5])])
def test_pages_hold_each_object_once(cluster: Any, limit: int, sizes: list[int]) -> None:
    """The same sizes, the last page without a token, and one version for all pages."""
    read = pages(cluster(), limit)

    assert [len(page["items"]) for page in read] == sizes
    assert len({page["metadata"]["resourceVersion"] for page in read}) == 1
    names = [one["metadata"]["name"] for page in read for one in page["items"]]
    assert len(set(names)) == NODES


@pytest.mark.parametrize("cluster", [scripted, embedded])
def test_the_version_is_answered(cluster: Any) -> None:
    """Both say which Kubernetes they are."""
    status, body = cluster().request("GET", "/version", {}, b"")

    assert status == 200
    assert json.loads(body)["gitVersion"].startswith("v1.")


def test_scripted_objects_have_the_fields_of_embedded_ones() -> None:
    """Every field that the scripted node has, a simulated node may have: none is made up."""
    (shown, *_), *_ = (page["items"] for page in pages(embedded(), 1))
    made = node("n1")

    assert set(made["metadata"]) <= {*shown["metadata"], "annotations"}
    assert set(made["spec"]) <= {*shown["spec"], "unschedulable"}
    assert set(made["status"]) <= set(shown["status"])
    assert set(made["status"]["conditions"][0]) <= set(shown["status"]["conditions"][0])
