"""Pods of missing ConfigMaps, Secrets and claims: they wait as a kubelet lets them, say why, and go on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from twin.engine import Engine
from twin.records import PodRecord

Build = Callable[..., Engine]
Create = Callable[..., PodRecord]
Object = dict[str, Any]


def run(engine: Engine, seconds: float) -> None:
    """Let time pass."""
    engine.advance(engine.now + seconds)


def waiting(engine: Engine, name: str) -> Object:
    """Return what the first container of a pod waits for."""
    pod = engine.store.get("pods", "default", name)
    assert pod["status"]["phase"] == "Pending"
    return dict(pod["status"]["containerStatuses"][0]["state"]["waiting"])


def said(engine: Engine, reason: str) -> list[Object]:
    """Return the KubeEvents of a reason."""
    return [event for event in engine.store.list("events") if event["reason"] == reason]


def key_of(kind: str, **more: Any) -> Object:
    """Return a container with one variable that is a key of a ConfigMap or Secret."""
    reference = {"name": "s", "key": "k", **more}
    return {"env": [{"name": "A", "valueFrom": {f"{kind}KeyRef": reference}}]}


def all_of(kind: str, **more: Any) -> Object:
    """Return a container with all keys of a ConfigMap or Secret as variables."""
    return {"envFrom": [{f"{kind}Ref": {"name": "s", **more}}]}


@pytest.mark.parametrize(
    ("container", "resource", "words"),
    [
        (all_of("configMap"), "configmaps", 'configmap "s" not found'),
        (all_of("secret"), "secrets", 'secret "s" not found'),
        (key_of("configMap"), "configmaps", 'configmap "s" not found'),
        (key_of("secret"), "secrets", 'secret "s" not found'),
    ],
)
def test_a_container_waits_for_its_variables(
    build: Build, create: Create, container: Object, resource: str, words: str
) -> None:
    """CreateContainerConfigError until the object is there; then it starts within ten seconds."""
    engine = build()
    pod = create(engine, "a", container=container)
    run(engine, 60)
    assert waiting(engine, "a") == {"reason": "CreateContainerConfigError", "message": words}
    (event,) = said(engine, "Failed")
    assert (event["type"], event["message"]) == ("Warning", f"Error: {words}")
    assert event["count"] > 1
    body = {"metadata": {"name": "s"}, "data": {"k": "dg=="}}
    engine.store.create(resource, "default", body)
    run(engine, 11)
    assert (pod.phase, pod.ready, pod.restart_count) == ("Running", True, 0)


@pytest.mark.parametrize(("kind", "named"), [("configMap", "ConfigMap"), ("secret", "Secret")])
def test_a_container_waits_for_a_key(build: Build, create: Create, kind: str, named: str) -> None:
    """The object is there, what the variable names in it is not."""
    engine = build()
    resource = f"{kind.lower()}s"
    engine.store.create(resource, "default", {"metadata": {"name": "s"}, "data": {"x": "dg=="}})
    create(engine, "a", container=key_of(kind))
    run(engine, 60)
    assert waiting(engine, "a")["message"] == f"couldn't find key k in {named} default/s"


def test_an_init_container_waits_for_its_variables(build: Build, create: Create) -> None:
    """It says so itself; the pod's own containers are PodInitializing."""
    engine = build()
    create(engine, "a", initContainers=[{"name": "i", "image": "app:1", **all_of("secret")}])
    run(engine, 60)
    assert waiting(engine, "a") == {"reason": "PodInitializing"}
    status = engine.store.get("pods", "default", "a")["status"]["initContainerStatuses"][0]
    assert status["state"]["waiting"]["message"] == 'secret "s" not found'


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ({"configMap": {"name": "s"}}, 'configmap "s" not found'),
        ({"secret": {"secretName": "s"}}, 'secret "s" not found'),
        ({"configMap": {"name": "there", "items": [{"key": "k", "path": "k"}]}},
         "configmap references non-existent config key: k"),
        ({"secret": {"secretName": "there", "items": [{"key": "k", "path": "k"}]}},
         "references non-existent secret key: k"),
        ({"projected": {"sources": [{"configMap": {"name": "s"}}, {"secret": {"name": "s"}}]}},
         '[configmap "s" not found, secret "s" not found]'),
    ],
)  # fmt: skip
def test_a_pod_waits_for_its_volumes(
    build: Build, create: Create, source: Object, words: str
) -> None:
    """ContainerCreating with FailedMount, before images are pulled, less and less often."""
    engine = build()
    for resource in ("configmaps", "secrets"):
        engine.store.create(resource, "default", {"metadata": {"name": "there"}})
    create(engine, "a", volumes=[{"name": "v", **source}])
    run(engine, 60)
    assert waiting(engine, "a") == {"reason": "ContainerCreating"}
    (event,) = said(engine, "FailedMount")
    text = f'MountVolume.SetUp failed for volume "v" : {words}'
    assert (event["type"], event["message"]) == ("Warning", text)
    assert 5 <= event["count"] <= 8
    assert not said(engine, "Pulling")


def test_a_pod_goes_on_when_its_volume_can_be_set_up(build: Build, create: Create) -> None:
    """At the next try, two minutes later at most."""
    engine = build()
    pod = create(engine, "a", volumes=[{"name": "v", "configMap": {"name": "s"}}])
    run(engine, 600)
    assert pod.phase == "Pending"
    engine.store.create("configmaps", "default", {"metadata": {"name": "s"}})
    run(engine, 150)
    assert pod.phase == "Running"


def test_what_is_optional_is_not_waited_for(build: Build, create: Create) -> None:
    """Variables, single keys and volumes."""
    engine = build()
    container = {**all_of("configMap", optional=True), **key_of("secret", optional=True)}
    volumes = [
        {"name": "v", "configMap": {"name": "s", "optional": True}},
        {"name": "w", "projected": {"sources": [{"secret": {"name": "s", "optional": True}}]}},
    ]
    pod = create(engine, "a", container=container, volumes=volumes)
    run(engine, 60)
    assert pod.phase == "Running"


def test_a_container_that_starts_again_needs_its_variables_again(
    build: Build, create: Create
) -> None:
    """What has been deleted meanwhile keeps it from starting."""
    engine = build()
    engine.store.create("configmaps", "default", {"metadata": {"name": "s"}})
    pod = create(engine, "a", container=all_of("configMap"))
    run(engine, 60)
    assert pod.phase == "Running"
    engine.store.delete("configmaps", "default", "s")
    engine.kubelet.crash(pod.uid)
    run(engine, 60)
    assert (pod.container_reason, pod.restart_count) == ("CreateContainerConfigError", 0)


def test_a_pod_bound_by_hand_waits_for_its_claim(build: Build, create: Create) -> None:
    """The kubelet says so where no scheduler does."""
    engine = build()
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "a"}}]
    create(engine, "a", nodeName="n0", volumes=volumes)
    run(engine, 60)
    (event,) = said(engine, "FailedMount")
    assert event["message"] == (
        "Unable to attach or mount volumes: unmounted volumes=[v], unattached volumes=[], failed to process "
        "volumes=[v]: error processing PVC default/a: failed to fetch PVC from API server: "
        'persistentvolumeclaims "a" not found'
    )
