"""Services of an observation: the Deployment behind each, how much of it there is, and who scales it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from schemas.work import ServiceCounters, WorkCounters
from services.collector.backends import deployments_behind
from services.collector.observed_services import observed_services
from services.kube_objects import Meta
from services.kube_workloads import (
    Deployment,
    DeploymentSpec,
    PodTemplate,
    Service,
    ServiceSpec,
    TemplateMeta,
)
from tests.builders import START_SECONDS
from tests.collector.conftest import Look
from tests.collector.scripted_cluster import ScriptedCluster, pod, stamp

WEB = "shop/Deployment/web"


def service(name: str, namespace: str = "shop", **selector: str) -> Service:
    """Return a Service with this selector."""
    return Service(
        metadata=Meta(name=name, namespace=namespace), spec=ServiceSpec(selector=selector)
    )


def deployment(name: str, namespace: str = "shop", **labels: str) -> Deployment:
    """Return a Deployment whose pods carry these labels."""
    template = PodTemplate(metadata=TemplateMeta(labels=labels))
    return Deployment(
        metadata=Meta(name=name, namespace=namespace), spec=DeploymentSpec(template=template)
    )


def test_a_service_belongs_to_the_one_deployment_that_it_selects() -> None:
    """Every label of the selector counts, and the namespace; several Deployments, or none, are nobody's."""
    deployments = [
        deployment("web", app="web", tier="front"),
        deployment("web-canary", app="web", tier="canary"),
        deployment("web", "other", app="web", tier="front"),
    ]
    services = [
        service("front", app="web", tier="front"),
        service("both", app="web"),
        service("nobody", app="api"),
        service("manual"),
        service("front", "other", app="web", tier="front"),
    ]

    assert deployments_behind(services, deployments) == {
        "shop/front": WEB,
        "other/front": "other/Deployment/web",
    }


def _cluster(**changes: Any) -> ScriptedCluster:
    half = {"resources": {"requests": {"cpu": "500m", "memory": "1Gi"}}}
    owner = {"kind": "Deployment", "name": "web", "controller": True}
    of_web = {"namespace": "shop", "owner": owner, "containers": [half]}
    web = {
        "metadata": {
            "name": "web",
            "namespace": "shop",
            "creationTimestamp": stamp(START_SECONDS),
        },
        "spec": {"replicas": 3},
        "status": {"readyReplicas": 2},
    }
    pods = [pod("a", **of_web), pod("b", **of_web)]
    return ScriptedCluster(**{"deployments": [web], "pods": pods, **changes})


def _work(workload: str) -> WorkCounters:
    one = ServiceCounters(service="shop/front", served=1.0, failed=0.0, lost=0.0, workload=workload)
    return WorkCounters(services=(one,))


def test_an_observed_service_has_its_replicas_requests_and_bounds(look: Look) -> None:
    """Wanted and ready are the Deployment's, requests those of one pod, bounds the autoscaler's."""
    scaler = {
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {
            "scaleTargetRef": {"kind": "Deployment", "name": "web"},
            "minReplicas": 2,
            "maxReplicas": 9,
        },
    }
    plain = replace(look(_cluster()), work=_work(WEB))
    scaled = replace(look(_cluster(autoscalers=[scaler])), work=_work(WEB))

    observed = observed_services(plain)
    assert observed is not None
    assert observed.row(0) == {
        "ids": "shop/front",
        "workload": WEB,
        "wanted": 3,
        "ready": 2,
        "autoscaled": False,
        "least": 0,
        "most": 0,
        "replica_cpu_cores": 0.5,
        "replica_memory_bytes": 2**30,
    }
    observed = observed_services(scaled)
    assert observed is not None
    assert (observed.autoscaled, observed.least, observed.most) == ((True,), (2,), (9,))


def test_services_without_a_known_deployment_are_not_observed(look: Look) -> None:
    """Nothing is said of a Service that nobody serves, nor where no Service is counted."""
    snapshot = look(_cluster())

    assert observed_services(snapshot) is None
    assert observed_services(replace(snapshot, work=_work(""))) is None
    assert observed_services(replace(snapshot, work=_work("shop/Deployment/gone"))) is None
