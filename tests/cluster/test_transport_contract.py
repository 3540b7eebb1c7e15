"""One suite for every way to reach a cluster: the services see no difference between them."""

from __future__ import annotations

import asyncio
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from services.cluster import MERGE_PATCH, ClusterRefused, Transport
from services.collector.cluster import read_every_list
from services.exerciser.cluster import (
    NAMESPACE,
    create_load,
    deployments_path,
    read_load,
    remove_all,
)
from services.exerciser.plan import PlannedLoad
from services.kube_lists import list_decoder, read_list
from services.kube_workloads import Deployment
from services.official_client import OfficialClientTransport
from tests.patience import HANGS_SECONDS

LOADS = [PlannedLoad(f"exercise-{number}", 0, 100, 2**26) for number in range(5)]
IMAGE = "rancher/mirrored-pause:3.10"
DEPLOYMENTS = deployments_path(NAMESPACE)


@pytest.fixture
async def five_deployments(transport: Transport) -> Any:
    """Five Deployments of the exerciser, removed afterwards."""
    await create_load(transport, LOADS, IMAGE, {})
    yield transport
    await remove_all(transport)


async def test_all_sources_can_be_read(transport: Transport) -> None:
    """Every list answers, with a resourceVersion and the cluster's clock."""
    reading = await read_every_list(transport, 0.0)
    needed = [source for source in reading.sources if source.source != "node_metrics"]
    for source in needed:
        assert source.ok, source.message
        assert source.resource_version
        assert source.read_time_seconds > 1.7e9


async def test_the_clock_does_not_go_back(transport: Transport) -> None:
    """Each answer is at least as late as the one before (to the second of a Date header)."""
    times = [(await transport.request("GET", "/version")).cluster_time_seconds for _ in range(5)]
    assert all(later >= earlier - 1.0 for earlier, later in pairwise(times))


async def test_creating_twice_changes_nothing(five_deployments: Transport) -> None:
    """The exerciser's writes are idempotent: what exists already is left alone."""
    await create_load(five_deployments, LOADS, IMAGE, {})
    names = [deployment.metadata.name for deployment in await _deployments(five_deployments)]
    assert sorted(names) == [load.name for load in LOADS]


async def test_lists_come_in_pages_that_add_up(five_deployments: Transport) -> None:
    """Pages of two hold every object once, and selectors are honoured on each page."""
    listed = await read_list(
        five_deployments, DEPLOYMENTS, list_decoder(Deployment), {"limit": "2"}
    )
    assert sorted(item.metadata.name for item in listed.items) == [load.name for load in LOADS]
    chosen = {"limit": "2", "labelSelector": "foresail.dev/exercise-load=exercise-3"}
    only = await read_list(five_deployments, DEPLOYMENTS, list_decoder(Deployment), chosen)
    assert [item.metadata.name for item in only.items] == ["exercise-3"]


async def test_a_patch_of_a_dry_run_changes_nothing(five_deployments: Transport) -> None:
    """dryRun=All answers with the result and stores nothing."""
    path, expected = f"{DEPLOYMENTS}/exercise-1", {"spec": {"paused": True}}
    answer = await five_deployments.request("PATCH", path, {"dryRun": "All"}, expected, MERGE_PATCH)
    assert json.loads(answer.body)["spec"]["paused"] is True
    unchanged = await five_deployments.request("GET", path)
    assert not json.loads(unchanged.body)["spec"].get("paused", False)


async def test_a_stale_version_is_refused_as_a_conflict(five_deployments: Transport) -> None:
    """A write with an old resourceVersion is refused with 409 Conflict."""
    path = f"{DEPLOYMENTS}/exercise-1"
    old = json.loads((await five_deployments.request("GET", path)).body)["metadata"][
        "resourceVersion"
    ]
    await five_deployments.request("PATCH", path, {}, {"spec": {"paused": True}}, MERGE_PATCH)
    stale = {"metadata": {"resourceVersion": old}, "spec": {"paused": False}}
    with pytest.raises(ClusterRefused) as raised:
        await five_deployments.request("PATCH", path, {}, stale, MERGE_PATCH)
    assert (raised.value.status, raised.value.reason) == (409, "Conflict")


async def test_what_is_not_there_is_not_found(transport: Transport) -> None:
    """404 keeps the API server's reason and names the object."""
    with pytest.raises(ClusterRefused) as raised:
        await transport.request("GET", "/api/v1/nodes/nobody")
    assert (raised.value.status, raised.value.reason) == (404, "NotFound")
    assert "nobody" in raised.value.message


async def test_an_invalid_object_is_refused(five_deployments: Transport) -> None:
    """422 for an object that the API server finds invalid."""
    body = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "Bad_Name", "namespace": NAMESPACE},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {}},
    }
    with pytest.raises(ClusterRefused) as raised:
        await five_deployments.request("POST", DEPLOYMENTS, body=body)
    assert raised.value.status == 422


async def test_removing_is_complete_and_repeatable(five_deployments: Transport) -> None:
    """After removing, nothing is left; removing again finds nothing to do."""
    assert await remove_all(five_deployments) == len(LOADS)
    async with asyncio.timeout(HANGS_SECONDS):
        while await _deployments(five_deployments):
            await asyncio.sleep(0.02)
    assert await remove_all(five_deployments) == 0


async def test_the_load_of_others_is_read_by_node(transport: Transport) -> None:
    """Every ready node is listed with what it offers."""
    load = await read_load(transport)
    assert [node.name for node in load.nodes] == sorted(node.name for node in load.nodes)
    assert all(node.cpu_millicores > 0 and node.memory_bytes > 0 for node in load.nodes)


@pytest.mark.twin
def test_a_reader_may_not_write(served_twin: dict[str, str]) -> None:
    """The collector's credentials read everything and write nothing."""

    async def main() -> None:
        reader = OfficialClientTransport(Path(served_twin["reader_kubeconfig"]))
        try:
            assert (await read_every_list(reader, 0.0)).nodes.source.ok
            with pytest.raises(ClusterRefused) as raised:
                await create_load(reader, LOADS, IMAGE, {})
            assert raised.value.status == 403
        finally:
            await reader.close()

    asyncio.run(main())


async def _deployments(transport: Transport) -> list[Deployment]:
    listed = await read_list(transport, DEPLOYMENTS, list_decoder(Deployment))
    return list(listed.items)
