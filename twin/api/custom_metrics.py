"""custom.metrics.k8s.io and external.metrics.k8s.io: metrics of requests, as adapters serve them.

Paths: namespaces/NS/pods/NAME/METRIC (NAME may be `*`, with a labelSelector), namespaces/NS/services/NAME/METRIC,
and for external ones namespaces/NS/METRIC with a labelSelector on `service` and `namespace`.
Source: kubernetes/metrics pkg/apis/custom_metrics, pkg/apis/external_metrics.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from twin.api.access import Attributes, Requester
from twin.api.label_selectors import label_requirements
from twin.api.messages import Request, Response, respond
from twin.controllers.autoscaler_status import milli_text
from twin.engine import Engine
from twin.errors import ApiError, method_not_allowed, unknown_resource
from twin.records import Object, PodRecord
from twin.serving.request_metrics import NAMES, Reading
from twin.timestamps import rfc3339

CUSTOM, EXTERNAL = "custom.metrics.k8s.io", "external.metrics.k8s.io"
VERSIONS = {CUSTOM: ("v1beta2", "v1beta1"), EXTERNAL: ("v1beta1",)}
_PATH = re.compile(
    r"^/apis/(?P<group>(?:custom|external)\.metrics\.k8s\.io)/(?P<version>v1beta[12])"
    r"/namespaces/(?P<namespace>[^/]+)/(?P<rest>[^/]+(?:/[^/]+){0,2})$"
)


def served_resources(group: str, version: str) -> list[tuple[str, str]]:
    """Return (name, kind) of what discovery lists of a group; empty for another group."""
    if version not in VERSIONS.get(group, ()):
        return []
    if group == EXTERNAL:
        return [(name, "ExternalMetricValueList") for name in NAMES]
    return [(f"{of}/{name}", "MetricValueList") for of in ("pods", "services") for name in NAMES]


def answer_metrics(
    engine: Engine, path: str, request: Request, requester: Requester
) -> Response | None:
    """Answer a request for such metrics; None for another path. Raises ApiError."""
    found = _PATH.match(path)
    if found is None or found["version"] not in VERSIONS[found["group"]]:
        return None
    group, namespace, rest = found["group"], found["namespace"], found["rest"].split("/")
    resource = rest[0]
    name, metric = (rest[1], rest[2]) if len(rest) == 3 else ("", rest[-1])
    requester.require(Attributes("get", group, resource, metric if name else "", namespace, name))
    if request.method != "GET":
        raise method_not_allowed()
    version = f"{group}/{found['version']}"
    if group == EXTERNAL and len(rest) == 1:
        items = list(_external(engine, namespace, metric, request))
        return respond(200, _list("ExternalMetricValueList", version, items))
    if group == CUSTOM and len(rest) == 3 and resource in ("pods", "services"):
        of = _pods if resource == "pods" else _services
        measured = list(of(engine, namespace, name, metric, request))
        if not measured:
            raise ApiError(404, "NotFound", f"the server could not find the metric {metric} for "
                           f"{resource} {name}")  # fmt: skip
        shown = [_value(item, metric, found["version"]) for item in measured]
        return respond(200, _list("MetricValueList", version, shown))
    raise unknown_resource(path)


def _pods(
    engine: Engine, namespace: str, name: str, metric: str, request: Request
) -> Iterator[tuple[Object, Reading]]:
    wanted = label_requirements(request.query.get("labelSelector", ""))
    for record in engine.store.records("pods", namespace):
        assert isinstance(record, PodRecord)
        if name not in ("*", record.name) or not all(test(record.labels) for test in wanted):
            continue
        reading = engine.request_metrics.of_pod(record.uid, metric)
        if reading is not None:
            yield _reference("Pod", namespace, record.name), reading


def _services(
    engine: Engine, namespace: str, name: str, metric: str, request: Request
) -> Iterator[tuple[Object, Reading]]:
    wanted = label_requirements(request.query.get("labelSelector", ""))
    for record in engine.store.records("services", namespace):
        if name not in ("*", record.name) or not all(test(record.labels) for test in wanted):
            continue
        reading = engine.request_metrics.of_service(namespace, record.name, metric)
        if reading is not None:
            yield _reference("Service", namespace, record.name), reading


def _external(engine: Engine, namespace: str, metric: str, request: Request) -> Iterator[Object]:
    wanted = label_requirements(request.query.get("labelSelector", ""))
    found = engine.request_metrics.of_labels(
        namespace, metric, lambda labels: all(test(labels) for test in wanted)
    )
    for labels, reading in found:
        yield {
            "metricName": metric,
            "metricLabels": labels,
            "timestamp": rfc3339(reading.at),
            "windowSeconds": int(reading.window_seconds),
            "value": milli_text(reading.milli),
        }


def _reference(kind: str, namespace: str, name: str) -> Object:
    return {"kind": kind, "namespace": namespace, "name": name, "apiVersion": "v1"}


def _value(item: tuple[Object, Reading], metric: str, version: str) -> Object:
    described, reading = item
    named: Object = {"metricName": metric}
    if version == "v1beta2":
        named = {"metric": {"name": metric, "selector": None}}
    return {
        "describedObject": described,
        **named,
        "timestamp": rfc3339(reading.at),
        "windowSeconds": int(reading.window_seconds),
        "value": milli_text(reading.milli),
    }


def _list(kind: str, version: str, items: list[Any]) -> Object:
    return {"kind": kind, "apiVersion": version, "metadata": {}, "items": items}
