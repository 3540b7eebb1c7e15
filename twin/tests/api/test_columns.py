"""What `kubectl get` shows of autoscalers and Services, in the words of a real server's printers."""

from __future__ import annotations

from typing import Any

import pytest

from twin.api.columns import columns_of

_QPS = {"metric": {"name": "qps"}}


def shown(resource: str, obj: dict[str, Any]) -> dict[str, Any]:
    """Return an object's cells by column."""
    whole = {"metadata": {"name": "a", "creationTimestamp": "2026-01-01T00:00:00Z"}, **obj}
    return {column.name: column.read(whole, 0.0) for column in columns_of(resource)}


@pytest.mark.parametrize(
    ("kind", "source", "target", "current", "text"),
    [
        ("Resource", {"name": "cpu"}, {"averageUtilization": 70}, {"averageUtilization": 45}, "cpu: 45%/70%"),
        ("Resource", {"name": "cpu"}, {"averageUtilization": 70}, None, "cpu: <unknown>/70%"),
        ("Resource", {"name": "memory"}, {"averageValue": "1Gi"}, {"averageValue": "2"}, "memory: 2/1Gi"),
        ("Pods", _QPS, {"averageValue": "10"}, {"averageValue": "15073m"}, "15073m/10"),
        ("Pods", _QPS, {"averageValue": "10"}, None, "<unknown>/10"),
        ("Object", _QPS, {"value": "40"}, {"value": "80"}, "80/40"),
        ("Object", _QPS, {"averageValue": "4"}, {"averageValue": "8"}, "8/4 (avg)"),
        ("External", _QPS, {"averageValue": "4"}, {"averageValue": "8"}, "8/4 (avg)"),
        ("External", _QPS, {"value": "4"}, None, "<unknown>/4"),
    ],
)  # fmt: skip
def test_each_kind_of_metric_stands_beside_its_target(
    kind: str, source: Any, target: Any, current: Any, text: str
) -> None:
    """Current over target, as far as it is known."""
    spec = {"metrics": [{"type": kind, kind.lower(): {**source, "target": target}}]}
    known = [{"type": kind, kind.lower(): {**source, "current": current}}] if current else None
    obj = {"spec": spec, "status": {"currentMetrics": known}}
    assert shown("horizontalpodautoscalers", obj)["Targets"] == text


def test_of_many_metrics_two_are_shown() -> None:
    """The others are counted; an autoscaler without any says so."""
    metrics = [
        {"type": "Pods", "pods": {"metric": {"name": name}, "target": {"averageValue": "1"}}}
        for name in "abcd"
    ]
    known = [{"type": "Pods", "pods": {"metric": {"name": "b"}, "current": {"averageValue": "3"}}}]
    obj: dict[str, Any] = {"spec": {"metrics": metrics}, "status": {"currentMetrics": known}}
    read = shown("horizontalpodautoscalers", obj)["Targets"]
    assert read == "<unknown>/1, 3/1 + 2 more..."
    assert shown("horizontalpodautoscalers", {"spec": {}})["Targets"] == "<none>"


def test_services_name_the_ports_of_nodes() -> None:
    """A port that every node has stands behind the Service's own."""
    ports = [{"port": 80, "nodePort": 31748}, {"port": 53, "protocol": "UDP"}]
    assert shown("services", {"spec": {"ports": ports}})["Port(s)"] == "80:31748/TCP,53/UDP"


def test_three_addresses_are_shown_and_the_rest_is_counted() -> None:
    """Of Endpoints and of EndpointSlices; without any both say so in their own word."""
    addresses = [{"ip": f"10.0.0.{number}"} for number in range(5)]
    subset = {"addresses": addresses, "ports": [{"port": 80}]}
    endpoints = shown("endpoints", {"subsets": [subset]})["Endpoints"]
    assert endpoints == "10.0.0.0:80,10.0.0.1:80,10.0.0.2:80 + 2 more..."
    assert shown("endpoints", {})["Endpoints"] == "<none>"

    parts = [{"addresses": [one["ip"]]} for one in addresses[:2]]
    obj = {"addressType": "IPv4", "ports": [{"port": 80}, {}], "endpoints": parts}
    cells = shown("endpointslices", obj)
    assert list(cells) == ["Name", "AddressType", "Ports", "Endpoints", "Age"]
    assert [cells[name] for name in ("AddressType", "Ports", "Endpoints")] == [
        "IPv4",
        "80,*",
        "10.0.0.0,10.0.0.1",
    ]
    assert shown("endpointslices", {"addressType": "IPv4"})["Endpoints"] == "<unset>"
