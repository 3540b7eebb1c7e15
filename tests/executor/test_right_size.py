"""The plan that gives running pods of a workload other requests: what it writes, and when it refuses."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from schemas.actions import ResizeAction, Target, TargetKind
from schemas.reasons import Reason
from services.executor.facts import AutoscalerFacts, ContainerFacts, Facts, PodFacts
from services.executor.plans.planned import OperationPlan, PlanRefusal
from services.executor.plans.right_size import plan
from services.executor.settings import ExecutorSettings

WEB = "shop/Deployment/web"
MIB = 1 << 20
HPA = AutoscalerFacts(
    namespace="shop", name="web", uid="h", resource_version="1", least_replicas=1, most_replicas=9
)


def container(
    name: str = "app", cpu: str = "2", memory: str = "1Gi", **more: Any
) -> ContainerFacts:
    """Return a container that uses a quarter of a core and 256 MiB."""
    requests = {"cpu": cpu, "memory": memory}
    given = {"requests": requests, "peak_cores": 0.25, "peak_bytes": 256 * MIB, **more}
    return ContainerFacts(name=name, **given)


def facts(*containers: ContainerFacts, **change: Any) -> Facts:
    """Return a workload of one pod."""
    names = PodFacts.model_fields.keys() & change.keys()
    usual = {"namespace": "shop", "qos": "Burstable", "containers": containers or (container(),)}
    given = {name: change[name] for name in names}
    pod = PodFacts(name="web-1", uid="u", workload=WEB, cpu_request_cores=2.0, **{**usual, **given})
    rest = {name: value for name, value in change.items() if name not in names}
    return Facts(**{"time_seconds": 100.0, "pods": (pod,), "resize_served": True, **rest})


def action(cores: float | None = 0.5, size: int | None = 512 * MIB) -> ResizeAction:
    """Return the wish for half a core and half a GiB."""
    target = Target(kind=TargetKind.WORKLOAD, name=WEB)
    return ResizeAction(target=target, cpu_request_cores=cores, memory_request_bytes=size)


def planned(seen: Facts, wish: ResizeAction | None = None) -> dict[str, Any]:
    """Return the amounts of each container that are written."""
    made = plan(wish or action(), seen, ExecutorSettings())
    assert isinstance(made, OperationPlan), made
    (operation,) = made.operations
    undo = json.loads(operation.undo or "")["spec"]["containers"]
    assert undo, "what is written can be taken back"
    written = json.loads(operation.patch or "")["spec"]["containers"]
    return {one["name"]: one["resources"] for one in written}


def test_requests_fall_and_limits_stay() -> None:
    """Nothing but the requests is written: too little of a limit would end the container."""
    assert planned(facts(container(limits={"memory": "2Gi"}))) == {
        "app": {"requests": {"cpu": "500m", "memory": "512Mi"}}
    }


def test_a_limit_rises_with_the_request() -> None:
    """A request above the limit would be refused."""
    seen = facts(container(limits={"memory": "1536Mi"}))
    assert planned(seen, action(None, 2_048 * MIB)) == {
        "app": {"requests": {"memory": "2Gi"}, "limits": {"memory": "2Gi"}}
    }


def test_containers_keep_their_shares() -> None:
    """A pod's half a core goes to its containers as its two cores did; whoever would restart for it keeps its own."""
    side = container("side", cpu="500m", memory="1Gi", peak_cores=0.01, restarts_for=("memory",))
    amounts = planned(facts(container(cpu="1500m"), side))
    assert amounts["app"]["requests"] == {"cpu": "375m", "memory": "512Mi"}
    assert amounts["side"]["requests"] == {"cpu": "125m"}


@pytest.mark.parametrize(
    ("change", "reason", "text"),
    [
        ({"resize_served": False}, Reason.MEANS_MISSING, "does not serve pods/resize"),
        ({"autoscaler": HPA}, Reason.AUTOSCALED, "HPA web scales"),
        ({"pods": ()}, Reason.TARGET_GONE, "no running pod"),
        ({"qos": "Guaranteed"}, Reason.NO_WORKLOAD, "Guaranteed"),
        ({"containers": ()}, Reason.NO_WORKLOAD, "another's"),
        ({"namespace": "kube-system"}, Reason.NO_WORKLOAD, "protected"),
        ({"containers": (container(cpu="500m", memory="512Mi"),)}, Reason.ALREADY_IN_STATE, "already"),
        ({"containers": (container(peak_cores=None),)}, Reason.USAGE_UNKNOWN, "cannot be read"),
        ({"containers": (container(peak_bytes=600 * MIB),)}, Reason.USAGE_UNKNOWN, "more than 512Mi"),
    ],
    ids=["old server", "hpa", "gone", "guaranteed", "vpa", "protected", "done", "no metrics", "needed"],
)  # fmt: skip
def test_why_nothing_is_written(change: Mapping[str, Any], reason: Reason, text: str) -> None:
    """Each has its reason and one line."""
    made = plan(action(), facts(**change), ExecutorSettings())
    assert isinstance(made, PlanRefusal)
    assert made.reason is reason
    assert text in made.text
    assert "\n" not in made.text
