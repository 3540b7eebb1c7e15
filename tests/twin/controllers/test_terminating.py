"""What controllers do in a namespace that is being deleted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Object = dict[str, Any]
Build = Callable[..., Object]
HOME = "leaving"


def _workload(template: Build, **spec: Any) -> Object:
    return {"selector": {"matchLabels": {"app": "web"}}, "template": template("web"), **spec}


def _change(cluster: Any, resource: str, **fields: Any) -> None:
    store = cluster.engine.store
    obj = store.get(resource, HOME, "web")
    store.replace(resource, HOME, "web", {**obj, "spec": {**obj["spec"], **fields}})


@pytest.mark.parametrize(("resource", "spec"), [
    ("deployments", {"replicas": 2}),
    ("statefulsets", {"replicas": 2, "serviceName": "web"}),
    ("daemonsets", {}),
])  # fmt: skip
def test_a_change_in_a_namespace_that_goes(
    cluster: Any, template: Build, resource: str, spec: Object
) -> None:
    """What a changed template would need cannot be made any more: it is tried again until the namespace is gone."""
    store = cluster.engine.store
    store.create("namespaces", "", {"metadata": {"name": HOME}})
    body = {"metadata": {"name": "web"}, "spec": _workload(template, **spec)}
    store.create(resource, HOME, body)
    cluster.run(30)
    assert store.count("pods")
    store.delete("namespaces", "", HOME)
    _change(cluster, resource, template=template("web", notes={"changed": "yes"}))
    cluster.run(2)
    assert store.find(resource, HOME, "web") is not None

    cluster.run(120)

    assert store.find("namespaces", "", HOME) is None
    assert not store.count("pods")


def test_a_service_in_a_namespace_that_goes(cluster: Any) -> None:
    """A Service whose namespace is deleted before its Endpoints are made harms nobody."""
    store = cluster.engine.store
    store.create("namespaces", "", {"metadata": {"name": HOME}})
    body = {"metadata": {"name": "web"}, "spec": {"selector": {"a": "b"}, "ports": [{"port": 80}]}}
    store.create("services", HOME, body)
    store.delete("namespaces", "", HOME)

    cluster.run(120)

    assert store.find("namespaces", "", HOME) is None
    assert not store.count("endpointslices")
