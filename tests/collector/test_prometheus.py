"""Node usage from a Prometheus: what the twin's own says, and every way in which an answer can be none."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pydantic import ValidationError

from bus.errors import ConfigError
from bus.virtual_loop import run_virtual
from foresail.settings import StackSettings
from foresail.stack.preflight import check_before_start
from foresail.stack.virtual import run_virtual_stack
from schemas.reasons import Reason
from schemas.snapshot import SourceRead
from services.cluster import ApiResponse, ClusterUnavailable
from services.collector.cluster import NODE_METRICS, PODS, ApiList, T
from services.collector.following import FollowedSources
from services.collector.node_rows import usage_by_node
from services.collector.prometheus import PrometheusMetrics
from services.collector.reading import ListRead
from services.collector.settings import CollectorSettings
from services.kube_objects import NodeMetrics
from services.prometheus_settings import PrometheusSettings
from tests.cluster.test_kube_follow import LoopClock, ScriptedServer, refuses, says
from tests.served_prometheus import AT, ServedPrometheus, served_prometheus


@pytest.fixture
def prometheus() -> Iterator[ServedPrometheus]:
    """Serve a Prometheus on a free port."""
    with served_prometheus() as served:
        served.values = {
            "node_cpu": {"n1": "1.5", "n2": "0.25"},
            "timestamp": {"n1": str(AT), "n2": str(AT - 7.5)},
            "MemTotal": {"n1": "1073741824", "n2": "5"},
        }
        yield served


def read(settings: PrometheusSettings) -> ListRead[NodeMetrics]:
    """Ask once, at cluster time 100."""
    return asyncio.run(PrometheusMetrics(settings).read(NODE_METRICS, 100.0))


def test_usage_and_its_time_come_by_node(prometheus: ServedPrometheus) -> None:
    """In the form of metrics.k8s.io, with the time of each node's own sample."""
    said = read(PrometheusSettings(url=prometheus.url))

    assert said.source.ok
    assert (said.source.server, said.source.items, said.source.read_time_seconds) == (
        "prometheus",
        2,
        100.0,
    )
    assert usage_by_node(said.items) == {
        "n1": {
            "cpu_usage_cores": 1.5,
            "memory_usage_bytes": 2**30,
            "usage_time_seconds": AT,
        },
        "n2": {"cpu_usage_cores": 0.25, "memory_usage_bytes": 5, "usage_time_seconds": AT - 7.5},
    }
    assert [path for path, _ in prometheus.asked] == ["/base/api/v1/query"] * 3


def test_what_is_not_known_of_a_node_is_left_out(prometheus: ServedPrometheus) -> None:
    """No number is made up: without a core's rate a node has memory alone, without a time nothing."""
    prometheus.values["node_cpu"] = {"n1": "NaN", "n2": "1", "n3": "1"}
    del prometheus.values["timestamp"]["n2"]
    prometheus.values["timestamp"]["n3"] = str(AT)

    items = read(PrometheusSettings(url=prometheus.url)).items

    assert {item.metadata.name: item.usage for item in items} == {
        "n1": {"memory": str(2**30)},
        "n3": {"cpu": "1.000000"},
    }


def test_credentials_are_read_for_each_question(
    prometheus: ServedPrometheus, tmp_path: Path
) -> None:
    """So a rotated token needs no restart."""
    token, basic = tmp_path / "token", tmp_path / "basic"
    token.write_text("first\n")
    basic.write_text("user:secret\n")
    metrics = PrometheusMetrics(PrometheusSettings(url=prometheus.url, token_file=str(token)))
    asyncio.run(metrics.read(NODE_METRICS, 0.0))
    token.write_text("second\n")
    asyncio.run(metrics.read(NODE_METRICS, 0.0))
    read(PrometheusSettings(url=prometheus.url, basic_auth_file=str(basic)))

    coded = base64.b64encode(b"user:secret").decode()
    assert [said for _, said in prometheus.asked] == [
        *["Bearer first"] * 3,
        *["Bearer second"] * 3,
        *[f"Basic {coded}"] * 3,
    ]


@pytest.mark.parametrize(
    ("status", "body", "message", "reason"),
    [
        (401, b"", "it answers 401", Reason.FORBIDDEN),
        (403, b"", "it answers 403", Reason.FORBIDDEN),
        (302, b"", "it answers 302 without samples", Reason.SOURCE_ERROR),
        (
            400,
            b'{"status":"error","error":"parse error: unexpected end"}',
            "parse error: unexpected end",
            Reason.SOURCE_ERROR,
        ),
        (200, b"<html>", "without samples", Reason.SOURCE_ERROR),
        (
            200,
            b'{"status":"success","data":{"resultType":"vector","result":[1,"2"]}}',
            "is no vector of samples",
            Reason.SOURCE_ERROR,
        ),
        (
            200,
            b'{"status":"success","data":{"resultType":"vector","result":[]}}',
            "has the label 'nodename' and a value",
            Reason.SOURCE_ERROR,
        ),
        (
            200,
            b'{"data":{"result":[{"metric":{"instance":"10.0.0.1:9100"},"value":[1,"2"]}]}}',
            "has the label 'nodename' and a value",
            Reason.SOURCE_ERROR,
        ),
    ],
)
def test_an_answer_that_is_none_fails_the_source(
    prometheus: ServedPrometheus, status: int, body: bytes, message: str, reason: Reason
) -> None:
    """With its own words; nothing of it is used."""
    prometheus.status, prometheus.body = status, body

    said = read(PrometheusSettings(url=prometheus.url))

    assert not said.source.ok
    assert said.items == ()
    assert (said.source.reason, said.source.server) == (reason, "prometheus")
    assert said.source.message.startswith("prometheus: ")
    assert message in said.source.message


def test_nobody_there_is_a_failed_source() -> None:
    """Without the time-out's or socket's own sentence, which differs from machine to machine."""
    said = read(PrometheusSettings(url="http://127.0.0.1:9"))

    assert said.source.message == "prometheus: 127.0.0.1:9 does not answer (NewConnectionError)"


@pytest.mark.parametrize(
    "url", ["prometheus:9090", "ftp://p", "http://user:secret@p:9090", "http://"]
)
def test_an_address_that_is_none_is_refused(url: str) -> None:
    """A password in it would travel in the events."""
    with pytest.raises(ValidationError):
        PrometheusSettings(url=url)


@pytest.mark.parametrize("name", ["token_file", "basic_auth_file", "ca_file"])
def test_a_file_that_is_not_there_is_refused_at_the_start(name: str, tmp_path: Path) -> None:
    """One line that names it."""
    missing = str(tmp_path / "missing")
    settings = PrometheusSettings.model_validate({"url": "https://p", name: missing})

    with pytest.raises(ConfigError) as refused:
        PrometheusMetrics(settings)
    assert missing in str(refused.value)
    assert "collector.prometheus" in str(refused.value)


def test_a_stack_does_not_start_without_the_file(tmp_path: Path) -> None:
    """It is said before the first process."""
    given = {"url": "https://p", "token_file": str(tmp_path / "missing")}
    settings = StackSettings.model_validate(
        {"collector": {"prometheus": given}, "dashboard": {"port": 0}, "nats": {"port": 0}}
    )
    with pytest.raises(ConfigError, match=r"collector\.prometheus\.token_file"):
        check_before_start(settings)


def test_virtual_time_asks_nobody() -> None:
    """Another server's answers are as of now, and another run would get others."""
    given = {"collector": {"prometheus": {"url": "http://p"}}}
    with pytest.raises(ConfigError, match="leave out --virtual-time"):
        run_virtual_stack(StackSettings.model_validate(given), quiet=True)


class OtherServer:
    """Metrics that do not come from the API server."""

    async def read(self, source: ApiList[T], otherwise_time_seconds: float) -> ListRead[T]:
        """Return none, in a list that could be read, by a clock that is far ahead."""
        at = otherwise_time_seconds + 1e6
        return ListRead(
            SourceRead(source=source.name, ok=True, read_time_seconds=at, server="prometheus")
        )


def test_an_api_server_that_hangs_is_noticed_by_its_version() -> None:
    """It is not asked for metrics any more, so it is asked for that; the other's clock is not believed."""
    server = ScriptedServer()
    asked: list[str] = []
    hangs: list[ClusterUnavailable] = []
    listed = server.request

    async def request(method: Any, path: str, *rest: Any) -> ApiResponse:
        if path == PODS.path:
            return await listed(method, path, *rest)
        asked.append(path)
        if hangs:
            raise hangs[0]
        return ApiResponse(200, b"{}", server.now)

    server.request = request  # type: ignore[method-assign]

    async def run() -> None:
        settings = CollectorSettings()
        sources = FollowedSources([PODS], server, LoopClock(), settings, Random(1), OtherServer())
        async with sources.running():
            await sources.settle(1.0)
            for _ in range(3):
                assert (await sources.read(NODE_METRICS, 0.0)).source.server == "prometheus"
            assert asked == ["/version"]
            assert sources.cluster_time_seconds == pytest.approx(server.now)
            hangs.append(ClusterUnavailable("timed out"))
            await asyncio.sleep(16.0)
            await sources.read(NODE_METRICS, 0.0)
            assert (await sources.read(PODS, 0.0)).source.reason is Reason.API_UNREACHABLE

    run_virtual(run)


def test_another_servers_metrics_stay_while_the_api_server_is_away() -> None:
    """They are not asked for again in every cycle of the outage."""
    server, other = ScriptedServer(), OtherServer()
    down = ClusterUnavailable("connection refused")
    server.watches = [says(then=down), refuses(down)]
    listed, reads = server.request, []

    async def request(method: Any, path: str, *rest: Any) -> ApiResponse:
        if path == PODS.path:
            return await listed(method, path, *rest)
        reads.append(path)
        return ApiResponse(200, b"{}", server.now)

    server.request = request  # type: ignore[method-assign]

    async def run() -> None:
        sources = FollowedSources(
            [PODS], server, LoopClock(), CollectorSettings(), Random(1), other
        )
        async with sources.running():
            await sources.settle(1.0)
            await sources.read(NODE_METRICS, 0.0)
            await asyncio.sleep(5.0)
            assert not (await sources.read(PODS, 0.0)).source.ok
            await sources.read(NODE_METRICS, 0.0)
            assert reads == ["/version"]

    run_virtual(run)
