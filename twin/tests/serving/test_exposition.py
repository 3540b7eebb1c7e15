"""What a Prometheus scrapes from the twin."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from prometheus_client.parser import text_string_to_metric_families

from twin.api.access import READER
from twin.api.messages import Request, Response, StreamedResponse
from twin.api.router import Router
from twin.tests.serving.web import Web

Samples = dict[str, list[tuple[dict[str, str], float]]]


def _text(web: Web) -> str:
    answer = Router(web.engine).handle(Request("GET", "/metrics"))
    assert isinstance(answer, StreamedResponse)
    assert answer.content_type.split(";")[0] == "text/plain"
    return b"".join(answer.chunks).decode()


def _samples(web: Web) -> Samples:
    found: Samples = {}
    for family in text_string_to_metric_families(_text(web)):
        for sample in family.samples:
            found.setdefault(sample.name, []).append((sample.labels, sample.value))
    return found


def test_requests_have_counters_and_buckets() -> None:
    """Counters rise by what was served, buckets rise with their bounds, and the count is the last bucket."""
    web = Web("constant requests_per_second=40", replicas=2)
    web.run(300)
    before = sum(value for _, value in _samples(web)["http_requests_total"])
    web.run(150)
    found = _samples(web)
    assert sum(value for _, value in found["http_requests_total"]) - before == pytest.approx(
        6_000, rel=0.01
    )
    for labels, count in found["http_request_duration_seconds_count"]:
        buckets = [
            (float(of["le"]), value)
            for of, value in found["http_request_duration_seconds_bucket"]
            if of["pod"] == labels["pod"]
        ]
        values = [value for _, value in sorted(buckets)]
        assert values == sorted(values)
        assert values[-1] == count
    [half] = [value for of, value in found["http_request_duration_seconds_bucket"]
              if of["le"] == "0.025" and of["pod"] == next(web.pods()).name]  # fmt: skip
    assert 0.45 < half / values[-1] < 0.60  # M/M/1 at load 0.4: 1 - exp(-0.025 / 0.0333) = 0.528


def test_cpu_counters_are_the_work_that_was_done() -> None:
    """A node's busy and idle seconds add up to its cores times the time, and busy is that of its pods."""
    web = Web("constant requests_per_second=40", replicas=3, nodes=1, cores=4)
    web.run(600)
    found = _samples(web)
    cores = found["node_cpu_seconds_total"]
    assert {labels["cpu"] for labels, _ in cores} == {"0", "1", "2", "3"}
    modes = {mode: sum(value for labels, value in cores if labels["mode"] == mode)
             for mode in ("user", "idle")}  # fmt: skip
    pods = sum(value for _, value in found["container_cpu_usage_seconds_total"])
    assert modes["user"] == pytest.approx(pods, rel=1e-6)
    assert pods == pytest.approx(600 * (40 * 0.02 + 3 * 0.005), rel=0.1)
    assert modes["user"] + modes["idle"] == pytest.approx(4 * 600.0)


def test_states_are_those_of_the_cluster() -> None:
    """Each pod has one phase, a dead machine is not Ready, and restarts are counted."""
    web = Web(replicas=2, nodes=2)
    web.run(60)
    pods = list(web.pods())
    web.engine.kubelet.kill_for_memory(pods[0].uid, "tested")
    web.engine.fail_node("n1", 600.0)
    web.run(120)
    found = _samples(web)
    for pod in web.pods():
        phases = [of["phase"] for of, value in found["kube_pod_status_phase"]
                  if of["uid"] == pod.uid and value]  # fmt: skip
        assert phases == [pod.phase]
    ready = {of["node"]: of["status"] for of, value in found["kube_node_status_condition"] if value}
    assert ready == {"n0": "true", "n1": "unknown"}
    assert sum(value for _, value in found["kube_pod_container_status_restarts_total"]) >= (
        1.0 if pods[0].node_name == "n0" else 0.0
    )


def test_readers_of_objects_may_not_scrape() -> None:
    """An identity without that path is refused."""
    answer = Router(Web().engine).handle(Request("GET", "/metrics"), READER)
    assert isinstance(answer, Response)
    assert answer.status == 403


@pytest.mark.skipif(shutil.which("promtool") is None, reason="needs Prometheus' promtool")
def test_promtool_reads_it() -> None:
    """Prometheus' own checker finds no error in the text."""
    web = Web()
    web.run(120)
    done = subprocess.run(
        ["promtool", "check", "metrics"], input=_text(web), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode in (0, 3), (
        done.stderr
    )  # 3: remarks on names that the exporters have chosen
    assert "error while linting" not in done.stderr
