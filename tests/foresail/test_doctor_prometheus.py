"""`foresail doctor --config FILE`: whether the Prometheus of the file can be used, and what each lack costs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from foresail.__main__ import main
from foresail.findings import Finding
from foresail.prometheus_checks import ClusterFacts, prometheus_findings
from services.collector.settings import CollectorSettings
from services.prometheus_settings import PrometheusSettings
from tests.patience import HANGS_SECONDS
from tests.served_prometheus import AT, ServedPrometheus, served_prometheus
from tests.twin_prometheus import MISSING, find_prometheus, scraped_twin

CLUSTER = ClusterFacts(frozenset({"n1", "n2"}), AT)


@pytest.fixture
def prometheus() -> Iterator[ServedPrometheus]:
    """Serve a Prometheus with node-exporter on two nodes, cAdvisor of one pod, and nothing else."""
    with served_prometheus() as served:
        pod = {"namespace": "shop", "pod": "web", "container": "c"}
        served.series = {
            "group_left (kind, workload)": [],  # without kube-state-metrics nobody knows a pod's owner
            "container_cpu": [{"metric": pod, "value": [AT, "1"]}],
            "timestamp(container": [{"metric": pod, "value": [AT, str(AT - 12)]}],
            "(container_memory": [{"metric": pod, "value": [AT, "1"]}],
            "kepler": [],
        }
        served.values = {
            "node_cpu": {"n1": "1.5", "n2": "0.25"},
            "timestamp(node_memory": {"n1": str(AT - 4), "n2": str(AT - 7.5)},
            "MemTotal": {"n1": "1073741824", "n2": "5"},
        }
        yield served


def findings(
    served: ServedPrometheus, cluster: ClusterFacts | None = CLUSTER, **settings: Any
) -> dict[str, Finding]:
    """Return the findings by what they are about."""
    given = CollectorSettings(prometheus=PrometheusSettings(url=served.url, **settings))
    found = asyncio.run(prometheus_findings(given, cluster))
    return {one.check.removeprefix("Prometheus: "): one for one in found}


def test_what_is_well_is_said_with_nodes_age_and_window(prometheus: ServedPrometheus) -> None:
    """And what many clusters lack costs something without being wrong."""
    found = findings(prometheus)

    assert all(one.ok for one in found.values()), found
    assert found["node_cpu_cores"].found == "2 of 2 nodes, over 120 s"
    assert found["node_sample_seconds"].found == "2 of 2 nodes, 4 s to 7.5 s old"
    assert found["pod_cpu_cores"].found == "1 container of 1 pod, over 120 s"
    assert found["pod_sample_seconds"].found == "1 container of 1 pod, 12 s to 12 s old"
    assert found["node_watts"].found == "no sample; costs: power is modelled"
    assert "energy_price" not in found


def test_nodes_that_do_not_join_are_named(prometheus: ServedPrometheus) -> None:
    """How many of how many, the label that tells them, and what it costs."""
    prometheus.values["node_cpu"] = {"n1": "1", "10.0.0.2:9100": "1"}

    found = findings(prometheus)["node_cpu_cores"]

    assert not found.ok
    assert found.found == "1 of 2 nodes (not n2), 1 that the cluster does not have, over 120 s"
    assert "'nodename': give labels.node of [node_cpu_cores]" in found.remedy
    assert "costs: nodes have no usage" in found.remedy


def test_without_a_cluster_nothing_is_held_against_it(prometheus: ServedPrometheus) -> None:
    """The samples are counted all the same."""
    found = findings(prometheus, None)

    assert found["node_cpu_cores"].ok
    assert found["node_cpu_cores"].found.startswith("2 nodes; give --kubeconfig")
    assert "clock" not in found


@pytest.mark.parametrize(
    ("ahead", "ok", "text"),
    [
        (0.4, True, "0.4 s ahead of the API server's"),
        (-5.0, True, "5 s behind the API server's"),
        (6.0, False, "6 s ahead of the API server's"),
        (-600.0, False, "600 s behind the API server's"),
    ],
)
def test_clocks_are_compared(
    prometheus: ServedPrometheus, ahead: float, ok: bool, text: str
) -> None:
    """More than five seconds apart is wrong, either way."""
    prometheus.now = AT + ahead

    found = findings(prometheus)["clock"]

    assert (found.ok, found.found) == (ok, text)


def test_old_samples_are_called_stale(prometheus: ServedPrometheus) -> None:
    """Where even the youngest is older than what counts as fresh."""
    prometheus.values["timestamp(node_memory"] = {"n1": str(AT - 91), "n2": str(AT - 200)}

    found = findings(prometheus)["node_sample_seconds"]

    assert (found.ok, found.found) == (False, "2 of 2 nodes, 91 s to 200 s old")
    assert "older than 90 s is stale" in found.remedy


def test_a_prometheus_that_does_not_answer_is_one_finding() -> None:
    """Not one for each query, each after its time-out."""
    settings = CollectorSettings(prometheus=PrometheusSettings(url="http://127.0.0.1:9"))

    found = asyncio.run(prometheus_findings(settings, CLUSTER))

    assert [(one.check, one.ok) for one in found] == [("Prometheus", False)]
    assert "127.0.0.1:9 does not answer" in found[0].found
    assert "without it nodes have no usage" in found[0].remedy


def test_a_query_that_is_refused_is_said_in_its_own_words(prometheus: ServedPrometheus) -> None:
    """With what it costs; the others are asked all the same."""
    found = findings(prometheus, memory_bytes="nothing_has_this_name")["node_memory_bytes"]
    assert (found.ok, found.found) == (False, "no sample")
    assert found.remedy == "costs: nodes have no usage: power is modelled from requests"


def test_settings_that_do_not_fit_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In one line, with exit code 2; so is a file that is not there."""
    config = tmp_path / "foresail.toml"
    config.write_text("[collector]\nprometheus = {url = 'prometheus:9090'}", encoding="utf-8")

    assert main(["doctor", "--config", str(config)]) == 2
    assert "collector.prometheus" in capsys.readouterr().err
    assert main(["doctor", "--config", str(tmp_path / "missing.toml")]) == 2
    assert "give a file that can be read" in capsys.readouterr().err


@pytest.mark.twin
@pytest.mark.skipif(find_prometheus() is None, reason=MISSING)
async def test_a_real_prometheus_that_scrapes_a_twin_is_well(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All of its nodes join, by the default queries, its clock is the API server's, and power is measured."""
    options = ("--nodes", "3", "--workload", "idle", "--speed", "1")
    async with scraped_twin(tmp_path, *options) as (said, prometheus):
        config = tmp_path / "foresail.toml"
        config.write_text(f'[collector.prometheus]\nurl = "{prometheus.url}"\n', encoding="utf-8")
        given = ["doctor", "--kubeconfig", said["admin_kubeconfig"], "--config", str(config)]
        given += ["--state", str(tmp_path / "state"), "--json"]
        async with asyncio.timeout(HANGS_SECONDS):
            while True:
                await asyncio.to_thread(main, given)
                found = {one["check"]: one for one in json.loads(capsys.readouterr().out)}
                if found["Prometheus: node_cpu_cores"]["ok"]:
                    break
                await asyncio.sleep(1.0)

    assert found["Prometheus"]["ok"]
    assert found["Prometheus: node_cpu_cores"]["found"] == "3 of 3 nodes, over 120 s"
    assert found["Prometheus: node_watts"]["found"] == "3 of 3 nodes, over 120 s"
