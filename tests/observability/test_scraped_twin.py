"""What dashboards ask of a real Prometheus that scrapes a live twin (docs/twin/metrics.md) has data."""

from __future__ import annotations

import asyncio
import math
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from proofs.observability.prometheus import Prometheus
from services.official_client import OfficialClientTransport
from tests.patience import HANGS_SECONDS
from tests.twin_prometheus import MISSING, find_prometheus, scraped_twin

QUERIES: Mapping[str, str] = tomllib.loads(
    Path(__file__).with_name("twin_dashboards.toml").read_text("utf-8")
)
WORKLOAD = """\
record,name,cpu_millicores,memory_bytes,time_seconds,kind,cpu_request_millicores,memory_request_bytes,replicas,traffic
node,n1,8000,34359738368,,,,,,
node,n2,8000,34359738368,,,,,,
arrival,web,,,0,service,500,268435456,2,constant requests_per_second=40
"""
_CPU = {"type": "Utilization", "averageUtilization": 70}
_SLEEP = {"name": "c", "image": "i", "command": ["sleep", "30"]}
OBJECTS: Mapping[str, Mapping[str, Any]] = {
    "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers": {
        "metadata": {"name": "web"},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "minReplicas": 2,
            "maxReplicas": 2,
            "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": _CPU}}],
        },
    },
    "/apis/batch/v1/namespaces/default/jobs": {
        "metadata": {"name": "once"},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [_SLEEP]}}},
    },
}
"""What is created beside the workload, by its path: a Job of a workload would be gone some minutes after its end."""


async def create(kubeconfig: str) -> None:
    """Create the objects in the twin."""
    transport = OfficialClientTransport(Path(kubeconfig))
    try:
        for path, body in OBJECTS.items():
            answer = await transport.request("POST", path, body=body)
            assert answer.status == 201, answer.body
    finally:
        await transport.close()


def has_number(prometheus: Prometheus, query: str) -> bool:
    """Say whether a query is answered with a number."""
    return not all(math.isnan(one.value) for one in prometheus.ask(query))


@pytest.mark.slow
@pytest.mark.twin
@pytest.mark.skipif(find_prometheus() is None, reason=MISSING)
async def test_dashboards_of_a_live_twin_have_data(tmp_path: Path) -> None:
    """Each query about nodes, pods, autoscalers, Jobs and requests of Services has a number."""
    workload = tmp_path / "web.csv"
    workload.write_text(WORKLOAD, encoding="utf-8")
    options = ("--workload", str(workload), "--weather", "off", "--speed", "60", "--seed", "7")
    waiting = set(QUERIES)
    async with scraped_twin(tmp_path, *options) as (said, prometheus):
        await create(said["admin_kubeconfig"])
        try:
            async with asyncio.timeout(HANGS_SECONDS):
                while waiting:
                    for name in sorted(waiting):
                        if await asyncio.to_thread(has_number, prometheus, QUERIES[name]):
                            waiting.discard(name)
                    await asyncio.sleep(0.5)
        except TimeoutError:
            pytest.fail(f"no data: {', '.join(sorted(waiting))}")
