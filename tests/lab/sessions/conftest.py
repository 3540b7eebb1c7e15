"""The engines that every promise of the port is tried on."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest

from bus.clock import SystemClock
from lab.sessions.engines.job_manifest import JobTemplate
from lab.sessions.engines.kubernetes import KubernetesEngine
from lab.sessions.engines.local import LocalEngine
from lab.sessions.engines.port import Engine
from lab.sessions.engines.ray_tasks import RayEngine
from lab.sessions.names import object_name
from services.official_client import OfficialClientTransport
from tests.lab.sessions.clusters import serving_real_cluster, serving_twin
from tests.lab.sessions.harness import Harness, OpenEngine

KINDS = [
    pytest.param("local", id="local"),
    pytest.param("ray", id="ray"),
    pytest.param("kubernetes", id="kubernetes", marks=pytest.mark.twin),
    pytest.param("real-cluster", id="real-cluster"),
]


@pytest.fixture(scope="module", params=KINDS)
def opened(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[OpenEngine]:
    """Give each engine in turn, with a cluster for all tests of a file where it needs one."""
    if request.param == "local":
        yield open_local
        return
    if request.param == "ray":
        with two_ray_nodes() as address:
            yield on_ray(address)
        return
    serve = serving_twin if request.param == "kubernetes" else serving_real_cluster
    with serve(tmp_path_factory.mktemp("cluster")) as kubeconfig:
        yield on_cluster(kubeconfig)


@pytest.fixture
def harness(request: pytest.FixtureRequest, opened: OpenEngine, tmp_path: Path) -> Harness:
    """Run sessions on each engine in turn; names keep sessions of one cluster apart."""
    kind = request.node.callspec.params["opened"]
    if kind in {"local", "ray"}:
        return Harness(kind, tmp_path, opened)
    test = request.node.originalname.removeprefix("test_")
    return Harness(
        "kubernetes", tmp_path, opened, python="python", session=test, prefix=object_name(test)[:30]
    )


@asynccontextmanager
async def open_local(session: str, folder: Path) -> AsyncIterator[Engine]:
    """Open a local engine and close it."""
    del session
    engine = LocalEngine(folder)
    await engine.open()
    try:
        yield engine
    finally:
        await engine.close()


@contextmanager
def two_ray_nodes() -> Iterator[str]:
    """Run a Ray cluster of two nodes on this machine; yields its address, skips where Ray is not installed."""
    pytest.importorskip("ray", reason="needs Ray: pip install 'foresail[ray]'")
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 3})
    try:
        cluster.add_node(num_cpus=3)
        yield cluster.address
    finally:
        cluster.shutdown()


def on_ray(address: str) -> OpenEngine:
    """Return what opens an engine on a Ray cluster."""

    @asynccontextmanager
    async def open_engine(session: str, folder: Path) -> AsyncIterator[Engine]:
        del session
        engine = RayEngine(address, folder, Path.cwd())
        await engine.open()
        try:
            yield engine
        finally:
            await engine.close()

    return open_engine


def on_cluster(kubeconfig: Path, template: JobTemplate | None = None) -> OpenEngine:
    """Return what opens an engine on a cluster."""

    @asynccontextmanager
    async def open_engine(session: str, folder: Path) -> AsyncIterator[Engine]:
        engine = KubernetesEngine(
            OfficialClientTransport(kubeconfig),
            session,
            folder,
            template or JobTemplate(),
            SystemClock(),
        )
        await engine.open()
        try:
            yield engine
        finally:
            await engine.close()

    return open_engine
