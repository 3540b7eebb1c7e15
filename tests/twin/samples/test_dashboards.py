"""What dashboards and adapters ask is answered with data by a twin under load."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from deploy.grafana.make_dashboard import DASHBOARD
from proofs.observability.panels import queries
from tests.twin.serving.web import LABELS, Web
from twin.promql.queries import instant_query, range_query
from twin.samples.scraper import SampleSettings, Scraper

CADVISOR = 'job="kubelet",metrics_path="/metrics/cadvisor",container!="",image!=""'
STATE = 'job="kube-state-metrics"'
QUESTIONS = {
    # In the form of kubernetes-mixin's dashboards of a cluster, a namespace, a node and a workload.
    "use of CPU": f"sum by (namespace) (rate(container_cpu_usage_seconds_total{{{CADVISOR}}}[5m]))",
    "CPU of a node": '1 - avg by (instance) (rate(node_cpu_seconds_total{job="node-exporter",mode="idle"}[5m]))',
    "CPU asked, of all": f'sum(kube_pod_container_resource_requests{{{STATE},resource="cpu"}})'
    f' / sum(kube_node_status_allocatable{{{STATE},resource="cpu"}})',
    "CPU used, of what is asked": "sum by (namespace, pod) (rate(container_cpu_usage_seconds_total[5m]))"
    ' / sum by (namespace, pod) (kube_pod_container_resource_requests{resource="cpu"})',
    "memory used, of limits": "sum by (pod) (container_memory_working_set_bytes)"
    ' / sum by (pod) (kube_pod_container_resource_requests{resource="memory"})',
    "memory of nodes": "1 - sum(node_memory_MemAvailable_bytes) / sum(node_memory_MemTotal_bytes)",
    "cores of a node": 'count without (cpu, mode) (node_cpu_seconds_total{mode="idle"})',
    "pods by workload": "sum by (created_by_name) (kube_pod_info * on(namespace, pod) group_left"
    ' max by (namespace, pod) (kube_pod_status_phase{phase="Running"}))',
    "CPU by node": "sum by (node) (rate(container_cpu_usage_seconds_total[5m])"
    " * on(namespace, pod) group_left(created_by_kind) kube_pod_info)",
    "Deployments short of replicas": "kube_deployment_spec_replicas - kube_deployment_status_replicas_available",
    "workload of a ReplicaSet": 'label_replace(kube_pod_owner{owner_kind="ReplicaSet"}, "replicaset", "$1",'
    ' "owner_name", "(.*)")'
    " * on(replicaset, namespace) group_left(owner_name) kube_replicaset_owner",
    "nodes that are ready": 'sum(kube_node_status_condition{condition="Ready",status="true"} == 1)',
    "restarts": "sum by (pod) (increase(kube_pod_container_status_restarts_total[10m]))",
    "largest": "topk(1, sum by (pod) (container_memory_working_set_bytes))",
    "at its most": "kube_horizontalpodautoscaler_status_current_replicas"
    " / kube_horizontalpodautoscaler_spec_max_replicas",
    "what it aims at": 'kube_horizontalpodautoscaler_spec_target_metric{metric_name="cpu"}',
    "Jobs that are done": 'kube_job_complete{condition="true"} == 1',
    "targets down": "count by (job) (up == 0) or count by (job) (up) * 0",
    # As prometheus-adapter asks for an autoscaler, and as a page of a service does.
    "an adapter's rate": 'sum(rate(http_requests_total{namespace="default",pod=~"web-.*"}[2m])) by (pod)',
    "errors": 'sum(rate(http_requests_total{code=~"5.."}[5m])) / sum(rate(http_requests_total[5m]))',
    "p99": "histogram_quantile(0.99, sum by (le) (rate(http_request_duration_seconds_bucket[5m])))",
    "mean latency": "sum(rate(http_request_duration_seconds_sum[5m]))"
    " / sum(rate(http_request_duration_seconds_count[5m]))",
    "busiest minute": "max_over_time(sum(rate(http_requests_total[1m]))[8m:1m])",
    "memory in an hour": "predict_linear(node_memory_MemAvailable_bytes[8m], 3600) > 0",
}  # fmt: skip


@cache
def _loaded() -> tuple[Web, Scraper]:
    web = Web("constant requests_per_second=40")
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    use = {"type": "Utilization", "averageUtilization": 70}
    metrics = [{"type": "Resource", "resource": {"name": "cpu", "target": use}}]
    scaling = {"scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 5, "metrics": metrics}
    web.create("horizontalpodautoscalers", "web", scaling)
    container = {"name": "c", "image": "i", "command": ["sleep", "30"]}
    template = {"metadata": {"labels": LABELS | {"app": "job"}},
                "spec": {"restartPolicy": "Never", "containers": [container]}}  # fmt: skip
    web.create("jobs", "once", {"template": template})
    scraper = Scraper(web.engine, SampleSettings())
    scraper.advance(web.engine, web.engine.now + 900.0)
    return web, scraper


@pytest.mark.parametrize("query", QUESTIONS.values(), ids=QUESTIONS)
def test_a_dashboard_has_data(query: str) -> None:
    """Each has a number, at an instant and over a range."""
    web, scraper = _loaded()
    now = round(web.engine.now * 1_000)
    single: Any = instant_query(scraper.store, query, now)["result"]
    whole: Any = range_query(scraper.store, query, now - 300_000, now, 30_000)["result"]
    assert any(one["value"][1] != "NaN" for one in single), query
    assert any(value != "NaN" for one in whole for _, value in one["values"]), query


@pytest.mark.parametrize("query", sorted({one.expression for one in queries(DASHBOARD)}))
def test_our_own_dashboard_is_understood(query: str) -> None:
    """Every panel's query is evaluated; its data are those of processes, which a real Prometheus scrapes."""
    web, scraper = _loaded()
    assert instant_query(scraper.store, query, round(web.engine.now * 1_000))["result"] == []
