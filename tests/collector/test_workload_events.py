"""What the collector tells of workloads: history at a start, and what they use once a minute."""

from __future__ import annotations

import asyncio
import gzip
from pathlib import Path
from typing import Any

import pytest

from bus.clock import LoopClock
from bus.errors import ConfigError
from bus.memory_adapter import MemoryBus, MemoryLog
from schemas.history import HistoryFilled
from schemas.observation import Observation
from schemas.registry import decode
from schemas.snapshot import SnapshotUsage
from services.collector.history_table import filled_events, filled_steps, read_history_file
from services.collector.service import Collector
from services.collector.settings import CollectorSettings
from services.prometheus_settings import PrometheusSettings
from services.twin_transport import TwinTransport
from tests.builders import ORIGIN, START_SECONDS
from tests.collector.scripted_cluster import ScriptedCluster, node, pod
from tests.served_prometheus import served_prometheus

DAY_STEPS = 288


def collected(
    settings: CollectorSettings, cluster: ScriptedCluster, looks: int, log: MemoryLog | None = None
) -> MemoryLog:
    """Return the log after some looks of a collector that starts."""
    log = log or MemoryLog(wall_ns=lambda: 0)

    async def main() -> None:
        bus, clock = MemoryBus(log, ORIGIN.cluster), LoopClock(round(START_SECONDS * 1e9))
        collector = Collector(settings, bus, clock, ORIGIN, TwinTransport(cluster))
        await collector.resume()
        for _ in range(looks):
            assert await collector.collect_once()
            cluster.now += 30.0

    asyncio.run(main())
    return log


def data_of(log: MemoryLog, kind: type[Any]) -> list[Any]:
    """Return the data of all events of one type."""
    events = [decode(message.subject, message.headers, message.data) for message in log.messages]
    return [event.data for event in events if isinstance(event.data, kind)]


def table(path: Path, *rows: str) -> str:
    """Write a table of history and return its name."""
    path.write_text("\n".join(["series,t_s,value", *rows]) + "\n", encoding="utf-8")
    return str(path)


def test_a_table_is_told_before_the_first_observation(tmp_path: Path) -> None:
    """Times that are not above 0 count back from the first cycle; the events say where values came from."""
    rows = [f"service/shop/web,{-86_400 + 60 * minute},{minute % 60}" for minute in range(1_440)]
    file = table(tmp_path / "past.csv", *rows, "cpu/shop/Deployment/web,-600,")
    settings = CollectorSettings(history_files=(file,), history_source="recording")

    log = collected(settings, ScriptedCluster(nodes=[node("n1")], pods=[pod("p1")]), 2)

    kinds = [message.subject.split(".", 2)[2] for message in log.messages]
    assert kinds.index("history.filled") < kinds.index("observation")
    told = data_of(log, HistoryFilled)
    assert {(one.source, one.step_seconds) for one in told} == {("recording", 300.0)}
    values = [value for one in told for value in one.series[0].values]
    assert values[:3] == [2.0, 7.0, 12.0]
    assert len(values) == DAY_STEPS
    first, last = told[0], told[-1]
    assert first.start_time_seconds == START_SECONDS - 86_400
    assert last.start_time_seconds + 300 * len(last.series[0].values) == START_SECONDS
    assert file not in str(settings.announcement())


def test_coarse_rows_hold_until_the_next_and_the_future_is_left_out() -> None:
    """Ten-minute rows fill two steps each; rows of now and later are not history."""
    now = 3_000_000.0
    steps = filled_steps({"service/a/b": [(now - 1_200, 4.0), (now - 600, 6.0), (now, 9.0)]}, now)

    assert list(steps["service/a/b"].values()) == [4.0, 4.0, 6.0, 6.0]
    assert max(steps["service/a/b"]) == now / 300 - 1


def test_a_row_is_shared_by_the_steps_that_its_time_lies_in() -> None:
    """A world that begins three minutes into a step: its rows reach two minutes into the next one each."""
    now = 3_000_180.0
    rows = [(-900.0, 10.0), (-600.0, 20.0), (-300.0, 30.0)]
    steps = filled_steps({"service/a/b": rows}, now)["service/a/b"]

    newest = 3_000_000 // 300 - 1
    assert steps[newest] == pytest.approx((180.0 * 20.0 + 120.0 * 30.0) / 300.0)
    assert steps[newest - 1] == pytest.approx((180.0 * 10.0 + 120.0 * 20.0) / 300.0)
    assert max(steps) == newest


def test_large_histories_are_told_in_pieces_that_fit_a_message() -> None:
    """Four hundred series of three days are some dozen events, each far below a message's limit."""
    steps = {
        f"cpu/a/Deployment/{number}": {step: 0.123456789 * step for step in range(864)}
        for number in range(400)
    }
    events = list(filled_events(steps, "table", 0, 864 * 300.0))

    assert sum(len(one.series) * len(one.series[0].values) for one in events) == 400 * 864
    assert max(len(one.model_dump_json()) for one in events) < 600_000
    assert len({one.key() for one in events}) == len(events)


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("service/shop/web,now,1", r"row 3: t_s = now: give a number"),
        ("service/shop/web,-60,-1", r"row 3: value = -1: give a number of 0 or more"),
        ("service/shop/web,-60", r"row 3 = 2 cells: give 3 cells"),
        ("web,-60,1", r"row 3: series = web: name a series such as service/NAMESPACE/NAME"),
    ],
)
def test_a_wrong_row_is_one_clear_line(tmp_path: Path, row: str, told: str) -> None:
    """Field, value and remedy are named, with the row."""
    file = table(tmp_path / "past.csv", "service/shop/web,-120,1", row)
    with pytest.raises(ConfigError, match=told):
        read_history_file(file)


def test_a_file_that_is_no_table_is_refused(tmp_path: Path) -> None:
    """A missing file and another header say what to give."""
    with pytest.raises(ConfigError, match="give a readable file"):
        read_history_file(str(tmp_path / "none.csv"))
    (tmp_path / "rates.csv").write_text("time_seconds,requests_per_second\n0,1\n")
    with pytest.raises(ConfigError, match="begin with the line series,t_s,value"):
        read_history_file(str(tmp_path / "rates.csv"))


def test_a_packed_table_is_read_as_a_plain_one(tmp_path: Path) -> None:
    """Only what is called .gz; one that is none, or is cut short, is one clear line."""
    plain = table(tmp_path / "past.csv", "service/shop/web,-600,3.5")
    packed = tmp_path / "past.csv.gz"
    packed.write_bytes(gzip.compress(Path(plain).read_bytes()))

    assert read_history_file(str(packed)) == read_history_file(plain)

    packed.write_bytes(packed.read_bytes()[:-4])
    with pytest.raises(ConfigError, match=r"give a table in CSV \(it is not packed by gzip, or"):
        read_history_file(str(packed))


def test_a_prometheus_is_asked_for_the_past_once() -> None:
    """Codes of a Service are added up; a rate tells of the step before it; a restart asks for what is lacking."""
    cluster = ScriptedCluster(nodes=[node("n1")], pods=[pod("p1")])
    newest = START_SECONDS // 300 * 300
    with served_prometheus() as served:
        labels = {"namespace": "shop", "service": "web"}
        times = [newest - 600, newest - 300, newest]
        served.series = {
            "http_requests_total": [
                {"metric": {**labels, "code": code}, "values": [[at, value] for at in times]}
                for code, value in (("200", "4"), ("500", "1"))
            ],
            "kube_pod_container_resource_requests": [
                {"metric": {}, "values": [[at, "12.5"] for at in times]}
            ],
        }
        settings = CollectorSettings(prometheus=PrometheusSettings(url=served.url))
        log = collected(settings, cluster, 1)
        asked = [
            form for form in served.forms if "start" in form and "http_requests" in form["query"]
        ]
        assert len(asked) == 14
        assert all("[300s]" in form["query"] and form["step"] == "300" for form in asked)

        told = data_of(log, HistoryFilled)
        assert [(one.source, one.start_time_seconds) for one in told] == [
            ("prometheus", newest - 900)
        ]
        assert [(one.id, one.values) for one in told[0].series] == [
            ("nodes/all", (12.5, 12.5, 12.5)),
            ("service/shop/web", (5.0, 5.0, 5.0)),
        ]

        served.forms.clear()
        cluster.now += 3_600.0
        log = collected(settings, cluster, 1, log)
        asked = [
            form for form in served.forms if "start" in form and "http_requests" in form["query"]
        ]
        assert len(asked) == 1
        assert float(asked[0]["end"]) - float(asked[0]["start"]) < 2 * 3_600


def test_a_prometheus_without_an_answer_costs_no_cycle() -> None:
    """Without the past the collector begins as it always did."""
    cluster = ScriptedCluster(nodes=[node("n1")], pods=[pod("p1")])
    with served_prometheus() as served:
        served.status, served.body = 503, b"busy"
        settings = CollectorSettings(prometheus=PrometheusSettings(url=served.url))
        log = collected(settings, cluster, 1)

    assert not data_of(log, HistoryFilled)
    assert len(data_of(log, Observation)) == 1


def pod_of(name: str) -> dict[str, Any]:
    """Return a running pod of a Deployment."""
    return pod(
        name,
        labels={"pod-template-hash": "5d"},
        owner={"kind": "ReplicaSet", "name": "web-5d", "controller": True},
    )


def test_use_is_told_once_a_minute_with_the_version_of_the_pods() -> None:
    """Sums over containers of running pods that have metrics; a pod without any is not counted as idle."""
    metrics = [
        {
            "metadata": {"namespace": "shop", "name": name},
            "containers": [{"usage": {"cpu": "250m", "memory": "64Mi"}}] * 2,
        }
        for name in ("p1", "p2", "gone")
    ]
    deployment = {
        "metadata": {
            "namespace": "shop",
            "name": "web",
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "annotations": {"deployment.kubernetes.io/revision": "7"},
        },
        "spec": {"replicas": 3},
        "status": {},
    }
    cluster = ScriptedCluster(
        nodes=[node("n1")],
        pods=[pod_of("p1"), pod_of("p2"), pod_of("p3")],
        deployments=[deployment],
        pod_metrics=metrics,
    )

    log = collected(CollectorSettings(), cluster, 5)

    told = data_of(log, SnapshotUsage)
    assert [one.cycle for one in told] == [1, 3, 5]
    (row,) = (told[0].workloads.row(place) for place in range(len(told[0].workloads)))
    assert row == {
        "ids": "shop/Deployment/web",
        "version": "7",
        "pods": 2,
        "cpu_used_cores": 1.0,
        "memory_used_bytes": 256 * 2**20,
        "cpu_request_cores": 2.0,
        "memory_request_bytes": 2 * 2**30,
        "cpu_most_cores": 0.5,
        "memory_most_bytes": 128 * 2**20,
    }
