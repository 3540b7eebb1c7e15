"""In-place resize: restarts, memory limits, static managers, generations and both conditions at once."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from twin.config import TwinConfig
from twin.config.behaviour import KubeletConfig
from twin.engine import Engine
from twin.errors import ApiError
from twin.workloads.arrival import NodeShape

Object = dict[str, Any]
Start = Callable[..., None]
GIB = 2**30
CPU_RATIO, MEMORY_RATIO = "foresail.dev/cpu-usage-ratio", "foresail.dev/memory-usage-ratio"


def resources(cpu: str, memory: str, *, limits: bool = False) -> Object:
    """Return requests, and equal limits when asked for."""
    amounts = {"cpu": cpu, "memory": memory}
    return {"requests": amounts, **({"limits": dict(amounts)} if limits else {})}


@pytest.fixture
def start(cluster: Any) -> Start:
    """Start a pod on n0: start(name, resources, resizePolicy=..., notes=..., **spec)."""

    def started(
        name: str,
        amounts: Object,
        *,
        policy: list[Object] | None = None,
        notes: dict[str, str] | None = None,
        **spec: Any,
    ) -> None:
        container: Object = {"name": "c", "image": "app:1", "resources": amounts}
        if policy:
            container["resizePolicy"] = policy
        made = {"containers": [container], "nodeName": "n0", **spec}
        head = {"name": name, "annotations": notes or {}}
        cluster.engine.store.create("pods", "default", {"metadata": head, "spec": made})
        cluster.run(20)

    return started


def resize(cluster: Any, pod: str, amounts: Object, **container: Any) -> None:
    """Ask for other amounts."""
    obj = cluster.get("pods", pod)
    new = {**obj["spec"]["containers"][0], "resources": amounts, **container}
    spec = {**obj["spec"], "containers": [new]}
    cluster.engine.store.replace(
        "pods", "default", pod, {**obj, "spec": spec}, subresource="resize"
    )


def resize_conditions(cluster: Any, name: str) -> dict[str, Object]:
    """Return the resize conditions by type."""
    found = cluster.status("pods", name)["conditions"]
    return {entry["type"]: entry for entry in found if entry["type"].startswith("PodResize")}


def container_status(cluster: Any, name: str) -> Object:
    """Return the status of a pod's container."""
    return dict(cluster.status("pods", name)["containerStatuses"][0])


def test_a_policy_may_ask_for_a_restart(cluster: Any, start: Start) -> None:
    """Memory restarts the container, CPU does not, when that is what resizePolicy says."""
    policy = [
        {"resourceName": "cpu", "restartPolicy": "NotRequired"},
        {"resourceName": "memory", "restartPolicy": "RestartContainer"},
    ]
    start("a", resources("1", "1Gi"), policy=policy)
    resize(cluster, "a", resources("2", "1Gi"))
    cluster.run(5)
    assert container_status(cluster, "a")["restartCount"] == 0
    resize(cluster, "a", resources("2", "2Gi"))
    cluster.run(1.5)
    assert "PodResizeInProgress" in resize_conditions(cluster, "a")
    assert container_status(cluster, "a")["state"].keys() == {"waiting"}
    cluster.run(20)

    status = container_status(cluster, "a")
    assert (status["restartCount"], status["resources"]) == (1, resources("2", "2Gi"))
    assert resize_conditions(cluster, "a") == {}
    assert "Container c resize requires restart" in [text for _, text in cluster.kube_events("a")]
    assert cluster.reasons("a")[-1] == "ResizeCompleted"


def test_a_memory_limit_in_use_is_not_lowered(cluster: Any, start: Start) -> None:
    """The resize shows an Error, keeps the limit, and goes through once less is in use."""
    notes = {MEMORY_RATIO: "0.5"}
    start("a", resources("1", "1Gi", limits=True), notes=notes)
    cluster.run(400)
    resize(cluster, "a", resources("1", "256Mi", limits=True))
    cluster.run(30)
    condition = resize_conditions(cluster, "a")["PodResizeInProgress"]
    status = container_status(cluster, "a")

    assert condition["reason"] == "Error"
    assert condition["message"].startswith("cannot decrease memory limits: [attempting to set pod")
    assert f"memory limit ({256 * 2**20}) below current usage (" in condition["message"]
    assert status["allocatedResources"]["memory"] == "256Mi"
    assert status["resources"]["limits"]["memory"] == "1Gi"
    assert (status["restartCount"], "ResizeError" in cluster.reasons("a")) == (0, True)
    resize(cluster, "a", resources("1", "900Mi", limits=True))
    cluster.run(15)
    assert resize_conditions(cluster, "a") == {}
    assert container_status(cluster, "a")["resources"]["limits"]["memory"] == "900Mi"


def test_a_memory_limit_above_use_is_lowered(cluster: Any, start: Start) -> None:
    """From 1.34 on a lower limit needs no restart while less than it is in use."""
    start("a", resources("1", "1Gi", limits=True), notes={MEMORY_RATIO: "0.2"})
    resize(cluster, "a", resources("1", "512Mi", limits=True))
    cluster.run(5)

    status = container_status(cluster, "a")
    assert (status["restartCount"], status["resources"]["limits"]["memory"]) == (0, "512Mi")


@pytest.mark.parametrize(
    ("settings", "amounts", "title"),
    [
        ({"cpu_manager_policy": "static"}, resources("2", "1Gi", limits=True), "CPU"),
        ({"memory_manager_policy": "Static"}, resources("1", "2Gi", limits=True), "Memory"),
    ],
)
def test_static_managers_forbid_it(settings: Object, amounts: Object, title: str) -> None:
    """Guaranteed pods beside a static manager of that resource: Infeasible, in the kubelet's words."""
    engine = Engine(TwinConfig(kubelet=KubeletConfig(**settings)), seed=1)
    engine.add_nodes([NodeShape("n0", 8_000, 32 * GIB, 0, {})])
    container = {"name": "c", "image": "i:1", "resources": resources("1", "1Gi", limits=True)}
    spec = {"containers": [container], "nodeName": "n0"}
    pod = engine.store.create("pods", "default", {"metadata": {"name": "a"}, "spec": spec})
    engine.advance(engine.now + 20)
    pod["spec"]["containers"] = [{**pod["spec"]["containers"][0], "resources": amounts}]
    head = {"name": "a", "namespace": "default"}
    engine.store.replace("pods", "default", "a", {**pod, "metadata": head}, subresource="resize")
    engine.advance(engine.now + 2)
    found = engine.store.get("pods", "default", "a")["status"]["conditions"]
    (condition,) = [entry for entry in found if entry["type"] == "PodResizePending"]

    policy = "static" if title == "CPU" else "Static"
    assert (condition["reason"], condition["message"]) == (
        "Infeasible",
        f'Resize is infeasible for Guaranteed Pods alongside {title} Manager policy "{policy}"',
    )


def test_generations_say_which_spec_is_meant(cluster: Any, start: Start) -> None:
    """metadata.generation counts resizes; the status and the condition name the one they are about."""
    start("a", resources("1", "1Gi"))
    obj = cluster.get("pods", "a")
    assert (obj["metadata"]["generation"], obj["status"]["observedGeneration"]) == (1, 1)
    resize(cluster, "a", resources("9", "1Gi"))
    obj = cluster.get("pods", "a")
    assert (obj["metadata"]["generation"], obj["status"]["observedGeneration"]) == (2, 1)
    cluster.run(1)
    assert cluster.status("pods", "a")["observedGeneration"] == 2
    assert resize_conditions(cluster, "a")["PodResizePending"]["observedGeneration"] == 2
    resize(cluster, "a", resources("2", "1Gi"))
    cluster.run(0.5)
    assert resize_conditions(cluster, "a")["PodResizeInProgress"]["observedGeneration"] == 3


def test_one_can_be_in_progress_while_the_next_waits(cluster: Any, start: Start) -> None:
    """Both conditions at once: what is allocated goes through, what is infeasible stays pending."""
    start("a", resources("1", "1Gi"))
    resize(cluster, "a", resources("3", "1Gi"))
    cluster.run(0.3)
    resize(cluster, "a", resources("9", "1Gi"))
    cluster.run(0.3)
    found = resize_conditions(cluster, "a")
    assert {kind: entry["observedGeneration"] for kind, entry in found.items()} == {
        "PodResizePending": 3,
        "PodResizeInProgress": 2,
    }
    status = container_status(cluster, "a")
    assert (status["allocatedResources"]["cpu"], status["resources"]["requests"]["cpu"]) == (
        "3",
        "1",
    )
    cluster.run(5)

    assert resize_conditions(cluster, "a").keys() == {"PodResizePending"}
    assert container_status(cluster, "a")["resources"]["requests"]["cpu"] == "3"


def test_the_scheduler_counts_the_larger_of_each_resource(cluster: Any, start: Start) -> None:
    """CPU that shrinks and memory that grows: until it is done, the old CPU and the new memory."""
    start("a", resources("4", "1Gi"))
    nodes = cluster.engine.nodes
    row = nodes.row_of["n0"]
    resize(cluster, "a", resources("1", "3Gi"))
    assert nodes.free[:2, row].tolist() == [4_000, 29 * GIB]
    cluster.run(0.5)
    assert nodes.free[:2, row].tolist() == [4_000, 29 * GIB]
    cluster.run(5)

    assert nodes.free[:2, row].tolist() == [7_000, 29 * GIB]


def test_deferred_ones_go_by_priority_then_class(cluster: Any, start: Start) -> None:
    """Room for one: the pod of higher priority gets it, though it asked later."""
    for name, value in (("low", 10), ("high", 1_000)):
        head = {"metadata": {"name": name}, "value": value}
        cluster.engine.store.create("priorityclasses", "", head)
    start("a", resources("2", "1Gi"), priorityClassName="low")
    start("b", resources("2", "1Gi"), priorityClassName="high")
    start("filler", resources("4", "1Gi"))
    resize(cluster, "a", resources("5", "1Gi"))
    cluster.run(1)
    resize(cluster, "b", resources("5", "1Gi"))
    cluster.run(1)
    cluster.delete("pods", "filler")
    cluster.run(40)

    assert container_status(cluster, "b")["resources"]["requests"]["cpu"] == "5"
    assert resize_conditions(cluster, "a")["PodResizePending"]["reason"] == "Deferred"


def test_deferred_pods_cost_one_look_in_three_minutes(cluster: Any, start: Start) -> None:
    """Ten deferred pods of a node share one periodic retry, however long they wait."""
    start("filler", resources("6", "1Gi"))
    for index in range(10):
        start(f"p{index}", resources("100m", "1Gi"))
        resize(cluster, f"p{index}", resources("3", "1Gi"))
    looks: list[str] = []
    retry = cluster.engine.resizer._retry
    cluster.engine.resizer._retry = lambda node: (looks.append(node), retry(node))
    cluster.run(1_800)

    assert 9 <= len(looks) <= 11


def test_events_carry_the_amounts_as_json(cluster: Any, start: Start) -> None:
    """ResizeStarted says what is being set, for which generation, in the kubelet's form."""
    start("a", resources("1", "1Gi"))
    resize(cluster, "a", resources("2", "1Gi"))
    cluster.run(5)
    texts = dict(cluster.kube_events("a"))
    title, text = texts["ResizeStarted"].split(": ", 1)

    assert title == "Pod resize started"
    assert json.loads(text) == {
        "containers": [{"name": "c", "resources": resources("2", "1Gi")}],
        "generation": 2,
    }


def test_a_program_needs_no_less_because_it_got_less(cluster: Any, start: Start) -> None:
    """Usage ratios stay those of the first request, through a resize and a restart."""
    policy = [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]
    start("a", resources("2", "1Gi"), policy=policy, notes={CPU_RATIO: "0.5"})
    resize(cluster, "a", resources("200m", "1Gi"))
    cluster.run(60)
    row = cluster.engine.usage.row_of[cluster.engine.store.record("pods", "default", "a").uid]

    assert container_status(cluster, "a")["restartCount"] == 1
    assert float(cluster.engine.usage["cpu_mean"][row]) == 1_000.0


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"name": "d"}, "containers may not be renamed or reordered on resize"),
        (
            {"resizePolicy": [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]},
            "only cpu and memory resources are mutable",
        ),
        ({"resources": {"requests": {"cpu": "1"}}}, "resource requests cannot be removed"),
    ],
)
def test_nothing_else_may_change(cluster: Any, start: Start, change: Object, sentence: str) -> None:
    """422 in the API server's words for anything but CPU and memory."""
    start("a", resources("1", "1Gi"))
    with pytest.raises(ApiError, match=sentence) as caught:
        resize(cluster, "a", **{"amounts": resources("2", "1Gi"), **_renamed(change)})

    assert caught.value.status == 422


def _renamed(change: Object) -> Object:
    return {"amounts" if key == "resources" else key: value for key, value in change.items()}


@pytest.mark.parametrize(
    ("policy", "restart", "sentence"),
    [
        ({"resourceName": "gpu", "restartPolicy": "NotRequired"}, "Always", "Unsupported value"),
        ({"resourceName": "cpu", "restartPolicy": "Sometimes"}, "Always", "Unsupported value"),
        (
            {"resourceName": "cpu", "restartPolicy": "RestartContainer"},
            "Never",
            "must be 'NotRequired' when pod `restartPolicy` is 'Never'",
        ),
    ],
)
def test_policies_are_checked(start: Start, policy: Object, restart: str, sentence: str) -> None:
    """A resizePolicy has known resources and policies, and no restart where none may be."""
    with pytest.raises(ApiError, match=sentence):
        start("a", resources("1", "1Gi"), policy=[policy], restartPolicy=restart)


def test_static_pods_keep_their_size(cluster: Any, start: Start) -> None:
    """A mirror pod cannot be resized."""
    start("a", resources("1", "1Gi"), notes={"kubernetes.io/config.mirror": "x"})
    with pytest.raises(ApiError, match="static pods cannot be resized"):
        resize(cluster, "a", resources("2", "1Gi"))


def test_a_clone_goes_on_with_an_error_and_a_wish(cluster: Any, start: Start) -> None:
    """What is in error and what is pending is part of the state."""
    start("a", resources("1", "1Gi", limits=True), notes={MEMORY_RATIO: "0.5"})
    cluster.run(400)
    resize(cluster, "a", resources("1", "256Mi", limits=True))
    cluster.run(5)
    resize(cluster, "a", resources("9", "256Mi", limits=True))
    cluster.run(5)
    other = cluster.engine.clone()
    assert other.state_hash() == cluster.engine.state_hash()
    for engine in (cluster.engine, other):
        engine.advance(engine.now + 400)

    assert other.state_hash() == cluster.engine.state_hash()
    assert resize_conditions(cluster, "a").keys() == {"PodResizePending", "PodResizeInProgress"}
