"""GET /metrics: the cluster as node-exporter, kube-state-metrics, cAdvisor and instrumented pods show it.

Names, labels and units are those of the exporters (prometheus/node_exporter, kubernetes/kube-state-metrics,
google/cadvisor); each carries a part of theirs. Counters are as of the last step of contention (15 s). Request
metrics are of pods behind a Service with traffic; in aggregate mode they count expected requests, so they may
be fractions. A real Prometheus can scrape this with the token of a kubeconfig.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from twin.engine import Engine
from twin.records import NodeRecord, ObjectRecord, PodRecord
from twin.serving.latency import PROMETHEUS_BUCKETS

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_PHASES = ("Pending", "Succeeded", "Failed", "Unknown", "Running")
Sample = tuple[str, dict[str, str], float]
"""What stands behind the family's name (such as `_sum`), labels, and value."""
Family = tuple[str, str, str, Callable[[Engine], Iterator[Sample]]]
"""Name, type, help and samples."""


def exposition(engine: Engine) -> bytes:
    """Return all metrics in Prometheus' text format."""
    lines: list[str] = []
    for name, kind, text, samples in FAMILIES:
        lines += (f"# HELP {name} {text}", f"# TYPE {name} {kind}")
        for suffix, labels, value in samples(engine):
            shown = ",".join(f'{key}="{_escape_label(label)}"' for key, label in labels.items())
            lines.append(f"{name}{suffix}{{{shown}}} {value!r}")
    return "\n".join([*lines, ""]).encode()


def _escape_label(label: str) -> str:
    return label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _nodes(engine: Engine) -> Iterator[NodeRecord]:
    for record in engine.store.records("nodes"):
        assert isinstance(record, NodeRecord)
        yield record


def _pods(engine: Engine) -> Iterator[tuple[PodRecord, dict[str, str]]]:
    for record in engine.store.records("pods"):
        assert isinstance(record, PodRecord)
        yield record, {"namespace": record.namespace, "pod": record.name, "uid": record.uid}


def _node_cpu(engine: Engine) -> Iterator[Sample]:
    elapsed = engine.serving.stepped_at - engine.config.start_time
    used = engine.cpu_counters.node_seconds
    for node in _nodes(engine):
        row = engine.nodes.row_of[node.name]
        if node.name in engine.world.down or row >= len(used):
            continue
        cores = node.allocatable_cpu_millicores / 1_000.0
        busy = float(used[row])
        yield "", {"instance": node.name, "cpu": "0", "mode": "user"}, busy
        idle = max(0.0, cores * max(0.0, elapsed - _age_at_start(engine, node)) - busy)
        yield "", {"instance": node.name, "cpu": "0", "mode": "idle"}, idle


def _age_at_start(engine: Engine, node: NodeRecord) -> float:
    return max(0.0, node.created_at - engine.config.start_time)


def _node_ready(engine: Engine) -> Iterator[Sample]:
    for node in _nodes(engine):
        for status in ("true", "false", "unknown"):
            labels = {"node": node.name, "condition": "Ready", "status": status}
            yield "", labels, float(node.ready_status.lower() == status)


def _node_allocatable(engine: Engine) -> Iterator[Sample]:
    for node in _nodes(engine):
        for resource, unit, amount in (
            ("cpu", "core", node.allocatable_cpu_millicores / 1_000.0),
            ("memory", "byte", float(node.allocatable_memory_bytes)),
            ("pods", "integer", float(node.allocatable_pods)),
        ):
            yield "", {"node": node.name, "resource": resource, "unit": unit}, amount


def _node_unschedulable(engine: Engine) -> Iterator[Sample]:
    for node in _nodes(engine):
        yield "", {"node": node.name}, float(node.unschedulable)


def _pod_phase(engine: Engine) -> Iterator[Sample]:
    for pod, labels in _pods(engine):
        for phase in _PHASES:
            yield "", {**labels, "phase": phase}, float(pod.phase == phase)


def _pod_info(engine: Engine) -> Iterator[Sample]:
    for pod, labels in _pods(engine):
        yield (
            "",
            {**labels, "node": pod.node_name, "pod_ip": pod.pod_ip, "host_ip": pod.host_ip},
            1.0,
        )


def _pod_ready(engine: Engine) -> Iterator[Sample]:
    for pod, labels in _pods(engine):
        for condition in ("true", "false"):
            yield "", {**labels, "condition": condition}, float(pod.ready is (condition == "true"))


def _pod_restarts(engine: Engine) -> Iterator[Sample]:
    for pod, labels in _pods(engine):
        for container in pod.shape.containers:
            yield "", {**labels, "container": container}, float(pod.restart_count)


def _pod_cpu(engine: Engine) -> Iterator[Sample]:
    for pod, _ in _pods(engine):
        seconds = engine.cpu_counters.of_pod(pod.uid)
        if seconds is None:
            continue
        for container in pod.shape.containers:
            labels = {"namespace": pod.namespace, "pod": pod.name, "container": container}
            yield "", {**labels, "node": pod.node_name}, seconds / len(pod.shape.containers)


def _deployment(field: str, part: str) -> Callable[[Engine], Iterator[Sample]]:
    def samples(engine: Engine) -> Iterator[Sample]:
        for record in engine.store.records("deployments"):
            assert isinstance(record, ObjectRecord)
            value = (record.body.get(part) or {}).get(field) or 0
            yield "", {"namespace": record.namespace, "deployment": record.name}, float(value)

    return samples


def _served_pods(
    engine: Engine,
) -> Iterator[tuple[dict[str, str], dict[str, float], Sequence[float]]]:
    """Yield labels, columns and cumulative buckets of each pod behind a Service with traffic."""
    for key, backends in engine.serving.services.items():
        namespace, service = key.split("/", 1)
        for place, (uid, buckets) in enumerate(backends.pod_buckets()):
            labels = {
                "namespace": namespace,
                "service": service,
                "pod": engine.world.pods[uid].name,
            }
            yield (
                labels,
                {name: float(column[place]) for name, column in backends.columns.items()},
                buckets,
            )


def _requests(engine: Engine) -> Iterator[Sample]:
    for labels, columns, _ in _served_pods(engine):
        yield "", {**labels, "code": "200"}, columns["served"]
        yield "", {**labels, "code": "504"}, columns["failed"]


def _in_flight(engine: Engine) -> Iterator[Sample]:
    for labels, columns, _ in _served_pods(engine):
        yield "", labels, columns["present"]


def _durations(engine: Engine) -> Iterator[Sample]:
    for labels, columns, buckets in _served_pods(engine):
        rising = [0.0, *buckets]
        for bound, (before, count) in zip(PROMETHEUS_BUCKETS, pairwise(rising), strict=True):
            yield "_bucket", {**labels, "le": f"{bound:g}"}, max(before, count)
        yield "_bucket", {**labels, "le": "+Inf"}, columns["served"]
        yield "_sum", labels, columns["latency_seconds"]
        yield "_count", labels, columns["served"]


def _lost_samples(engine: Engine) -> Iterator[Sample]:
    for key, account in engine.serving.accounts().items():
        namespace, service = key.split("/", 1)
        labels = {"namespace": namespace, "service": service}
        for reason, value in (
            ("timed out", account.timed_out),
            ("refused", account.refused),
            ("lost", account.lost),
        ):
            yield "", {**labels, "reason": reason}, value


def _job_work(engine: Engine) -> Iterator[Sample]:
    for outcome, seconds in engine.job_work.cpu_seconds.items():
        yield "", {"outcome": outcome}, seconds


FAMILIES: tuple[Family, ...] = (
    (
        "node_cpu_seconds_total",
        "counter",
        "CPU seconds of all cores of a node, by mode.",
        _node_cpu,
    ),
    ("kube_node_status_condition", "gauge", "The Ready condition of a node.", _node_ready),
    ("kube_node_status_allocatable", "gauge", "What a node offers to pods.", _node_allocatable),
    ("kube_node_spec_unschedulable", "gauge", "Whether a node is cordoned.", _node_unschedulable),
    ("kube_pod_info", "gauge", "Where a pod is.", _pod_info),
    ("kube_pod_status_phase", "gauge", "The phase of a pod.", _pod_phase),
    ("kube_pod_status_ready", "gauge", "Whether a pod is ready.", _pod_ready),
    (
        "kube_pod_container_status_restarts_total",
        "counter",
        "Restarts of a container.",
        _pod_restarts,
    ),
    ("container_cpu_usage_seconds_total", "counter", "CPU seconds of a container.", _pod_cpu),
    ("kube_deployment_spec_replicas", "gauge", "Replicas wanted.", _deployment("replicas", "spec")),
    (
        "kube_deployment_status_replicas_ready",
        "gauge",
        "Replicas that are ready.",
        _deployment("readyReplicas", "status"),
    ),
    ("http_requests_total", "counter", "Requests that ended in a pod, by status code.", _requests),
    ("http_requests_in_flight", "gauge", "Requests in a pod.", _in_flight),
    (
        "http_request_duration_seconds",
        "histogram",
        "From arrival to answer, of requests that were served.",
        _durations,
    ),
    (
        "foresail_requests_unserved_total",
        "counter",
        "Requests of a Service that nobody served, as people count them.",
        _lost_samples,
    ),
    (
        "foresail_job_cpu_seconds_total",
        "counter",
        "CPU seconds of Job pods that ended in time, late, or for nothing.",
        _job_work,
    ),
)
