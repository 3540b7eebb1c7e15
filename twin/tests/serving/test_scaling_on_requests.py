"""Autoscalers that follow requests, and the APIs in which adapters show them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from twin.api.messages import Request, Response
from twin.api.router import Router
from twin.errors import ApiError
from twin.tests.serving.web import Web

_METRIC = {"name": "http_requests_per_second"}
_SERVICE = {"apiVersion": "v1", "kind": "Service", "name": "web"}
_PODS = {
    "type": "Pods",
    "pods": {"metric": _METRIC, "target": {"type": "AverageValue", "averageValue": "10"}},
}
_OBJECT = {
    "type": "Object",
    "object": {
        "metric": _METRIC,
        "describedObject": _SERVICE,
        "target": {"type": "Value", "value": "40"},
    },
}
_OBJECT_SHARE = {
    "type": "Object",
    "object": {"metric": _METRIC, "describedObject": _SERVICE,
               "target": {"type": "AverageValue", "averageValue": "10"}},
}  # fmt: skip
_EXTERNAL = {
    "type": "External",
    "external": {
        "metric": {**_METRIC, "selector": {"matchLabels": {"service": "web"}}},
        "target": {"type": "AverageValue", "averageValue": "10"},
    },
}


def _hpa(web: Web, metric: Any, most: int = 20) -> None:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    web.create("horizontalpodautoscalers", "web",
               {"scaleTargetRef": target, "minReplicas": 1, "maxReplicas": most, "metrics": [metric]})  # fmt: skip


def _replicas(web: Web) -> int:
    return int(web.engine.store.get("deployments", "default", "web")["spec"]["replicas"])


def _get(web: Web, path: str, **query: str) -> Any:
    answer = Router(web.engine).handle(Request("GET", path, query))
    assert isinstance(answer, Response)
    return json.loads(answer.body)


@pytest.mark.parametrize(
    "metric", [_PODS, _OBJECT_SHARE, _EXTERNAL], ids=["Pods", "Object", "External"]
)
def test_replicas_follow_requests_per_second(metric: Any) -> None:
    """76 requests per second at 10 for each pod are 8 pods, and 18 later are 2."""
    web = Web("recorded rates=0:76,900:18", replicas=2)
    _hpa(web, metric)
    web.run(840)
    assert _replicas(web) == 8
    status = web.engine.store.get("horizontalpodautoscalers", "default", "web")["status"]
    [current] = status["currentMetrics"]
    assert current["type"] == metric["type"]
    assert float(current[metric["type"].lower()]["current"]["averageValue"].rstrip("m")) > 9.0
    web.run(900)
    assert _replicas(web) == 2


def test_value_of_a_service_scales_ready_pods() -> None:
    """With a target of type Value the pods grow by value over target: 80 over 40 doubles two pods, once."""
    web = Web("constant requests_per_second=80", replicas=2)
    _hpa(web, _OBJECT, most=4)
    web.run(300)
    assert _replicas(web) == 4


def test_metric_that_nobody_serves_is_reported() -> None:
    """An unknown metric leaves the replicas and is named in the condition."""
    web = Web(replicas=2)
    unknown = {"type": "Pods", "pods": {**_PODS["pods"], "metric": {"name": "queue_length"}}}  # type: ignore[dict-item]
    _hpa(web, unknown)
    web.run(120)
    assert _replicas(web) == 2
    conditions = web.engine.store.get("horizontalpodautoscalers", "default", "web")["status"][
        "conditions"
    ]
    [active] = [entry for entry in conditions if entry["type"] == "ScalingActive"]
    assert active["reason"] == "FailedGetPodsMetric"
    assert "unable to get metric queue_length" in active["message"]


def test_metric_without_a_name_is_refused() -> None:
    """An autoscaler whose metric has no name is refused when it is written."""
    with pytest.raises(ApiError, match=r"metric\.name"):
        _hpa(Web(), {"type": "Pods", "pods": {"target": {"averageValue": "1"}}})


def test_custom_metrics_of_pods_and_services() -> None:
    """Each pod's rate and the Service's sum are served in both versions, and discovery lists them."""
    web = Web("constant requests_per_second=80", replicas=2)
    web.run(120)
    for version in ("v1beta1", "v1beta2"):
        base = f"/apis/custom.metrics.k8s.io/{version}"
        listed = _get(
            web,
            f"{base}/namespaces/default/pods/*/http_requests_per_second",
            labelSelector="app=web",
        )
        assert [item["value"] for item in listed["items"]] == ["40", "40"]
        assert {item["describedObject"]["name"] for item in listed["items"]} == {
            pod.name for pod in web.pods()
        }
        [item] = _get(web, f"{base}/namespaces/default/services/web/http_requests_per_second")[
            "items"
        ]
        assert item["value"] == "80"
        names = [entry["name"] for entry in _get(web, base)["resources"]]
        assert "pods/http_requests_per_second" in names
    none = _get(web, "/apis/custom.metrics.k8s.io/v1beta2/namespaces/default/pods/*/http_requests_per_second",
                labelSelector="app=other")  # fmt: skip
    assert none["code"] == 404


def test_external_metrics_are_selected_by_label() -> None:
    """External metrics sum up by Service, and a selector that finds none gives an empty list."""
    web = Web("constant requests_per_second=80", replicas=2)
    web.run(120)
    path = "/apis/external.metrics.k8s.io/v1beta1/namespaces/default/http_requests_per_second"
    [item] = _get(web, path, labelSelector="service=web")["items"]
    assert (item["value"], item["metricLabels"]["service"]) == ("80", "web")
    assert _get(web, path, labelSelector="service=shop")["items"] == []


def test_readings_of_pods_follow_who_serves() -> None:
    """Whichever pods have come, gone or crashed, each shows the rate of its own requests, and others none."""
    web, seen = Web(replicas=3), set()
    metrics = web.engine.request_metrics
    for replicas in (3, 6, 1, 4, 2):
        web.scale(replicas)
        for step in range(8):
            web.run(11.0)
            rates = dict(zip(web.backends.uids, web.backends["rate"].tolist(), strict=True))
            for uid in web.engine.world.pods:
                reading = metrics.of_pod(uid, "http_requests_per_second")
                expected = round(rates[uid] * 1_000.0) if uid in rates else None
                assert (None if reading is None else reading.milli) == expected
            seen.add(frozenset(rates))
            if step == 3:
                web.engine.kubelet.crash(web.backends.uids[0])
    assert len(seen) > 4
