"""What a pod waits for, by what kubelets, schedulers and runtimes say of it."""

from __future__ import annotations

from typing import Any

import pytest

from lab.explanations.container_waits import delay_seconds
from lab.explanations.field_owners import FieldOwner, container_key, owners_of
from lab.explanations.frozen_cluster import unix_seconds
from lab.explanations.pod_waits import pod_waits
from lab.explanations.waits import Surroundings, Wait

Object = dict[str, Any]
START = "2026-01-01T10:00:00Z"
NOW = unix_seconds("2026-01-01T10:05:00Z") or 0.0
NODE = {
    "metadata": {"name": "rack-1"},
    "status": {"conditions": [{"type": "Ready", "status": "True"}]},
}
SCHEDULED = {"type": "PodScheduled", "status": "True", "lastTransitionTime": START}


def pod(state: Object | None = None, *, container: Object | None = None, **status: Any) -> Object:
    """Return a pod on a node whose one container is in a state."""
    statuses = [] if state is None else [{"name": "c", "ready": False, "restartCount": 0, **state}]
    return {
        "kind": "Pod",
        "metadata": {"name": "web-1", "namespace": "shop", "uid": "u1", "creationTimestamp": START},
        "spec": {
            "nodeName": "rack-1",
            "containers": [{"name": "c", "image": "shop/web:2", **(container or {})}],
        },
        "status": {
            "phase": "Pending",
            "conditions": [SCHEDULED],
            "containerStatuses": statuses,
            **status,
        },
    }


def event(reason: str, message: str, at: str = "2026-01-01T10:04:00Z") -> Object:
    """Return an event about the pod."""
    return {
        "metadata": {"name": "e"},
        "involvedObject": {"uid": "u1"},
        "reason": reason,
        "message": message,
        "lastTimestamp": at,
    }


def ask(obj: Object, *events: Object, **around: Any) -> tuple[Wait, ...]:
    """Return what the pod waits for."""
    return pod_waits(obj, Surroundings(NOW, events, **{"nodes": [NODE], **around}))


def waiting(reason: str, message: str = "") -> Object:
    """Return a container's waiting state."""
    return {"state": {"waiting": {"reason": reason, "message": message}}}


def running(**more: Any) -> Object:
    """Return a container that has run from the start on."""
    return {"state": {"running": {"startedAt": START}}, **more}


def test_an_image_that_cannot_be_pulled() -> None:
    """The runtime's words with their age, since when it has had its node, and who names the image."""
    said = event("Failed", 'Failed to pull image "shop/web:2": manifest unknown')
    back_off = waiting("ImagePullBackOff", 'Back-off pulling image "shop/web:2"')
    (wait,) = ask(pod(back_off), said)
    assert wait.step == "image"
    assert "shop/web:2" in wait.text
    assert wait.since_seconds == NOW - 300
    assert wait.words is not None
    assert (wait.words.text, wait.words.seconds) == (said["message"], NOW - 60)
    assert wait.who == "Pod web-1, or the registry"


def test_a_program_that_ends_again_and_again() -> None:
    """How it ended, after how long, and when the kubelet tries again."""
    ended = {"exitCode": 3, "startedAt": START, "finishedAt": "2026-01-01T10:00:40Z"}
    state = waiting("CrashLoopBackOff", "back-off 5m0s restarting failed container=c pod=web-1")
    looping = {**state, "restartCount": 7, "lastState": {"terminated": ended}}
    (wait,) = ask(pod(looping))
    assert wait.step == "program"
    assert "7 restarts, the last with exit code 3 after 40 s" in wait.text
    assert wait.since_seconds == NOW - 260
    assert wait.until_seconds == NOW + 40
    assert "its program" in wait.who


def test_a_program_that_is_killed_for_want_of_memory() -> None:
    """Its limit is what could be changed."""
    last = {"terminated": {"exitCode": 137, "reason": "OOMKilled", "finishedAt": START}}
    looping = {**waiting("CrashLoopBackOff"), "restartCount": 2, "lastState": last}
    (wait,) = ask(pod(looping, container={"resources": {"limits": {"memory": "64Mi"}}}))
    assert "killed for want of memory" in wait.text
    assert wait.who.startswith("its memory limit of 64Mi in Pod web-1")


@pytest.mark.parametrize(
    ("words", "needs"),
    [
        ('configmap "settings" not found', "ConfigMap settings"),
        ('secret "login" not found', "Secret login"),
    ],
)
def test_configuration_that_is_not_there(words: str, needs: str) -> None:
    """What is missing by its kind and name, and that whoever makes it could help."""
    (wait,) = ask(pod(waiting("CreateContainerConfigError", words)))
    assert wait.step == "configuration"
    assert f"needs {needs}, which is not there" in wait.text
    assert wait.who.startswith(f"whoever makes {needs}")


def test_a_startup_probe() -> None:
    """When the kubelet gives up, and what the probe says."""
    probe = {"httpGet": {"port": 80}, "periodSeconds": 10, "failureThreshold": 60}
    said = event("Unhealthy", "Startup probe failed: connection refused")
    starting = pod(running(started=False), container={"startupProbe": probe})
    (wait,) = ask(starting, said)
    assert (wait.step, wait.until_seconds) == ("probe", NOW + 300)
    assert "the startup probe of container c has not succeeded" in wait.text
    assert wait.words is not None
    assert wait.words.text.endswith("connection refused")


def test_a_readiness_probe_that_is_not_asked_yet() -> None:
    """Its first delay is what is waited for."""
    probe = {"httpGet": {"port": 80}, "initialDelaySeconds": 400}
    (wait,) = ask(pod(running(started=True), container={"readinessProbe": probe}))
    assert wait.until_seconds == NOW + 100
    assert "is asked from 400 s after the start on" in wait.text


def test_init_containers_come_one_after_the_other() -> None:
    """Only the first that has not ended is told; one that restarts always only has to have started."""
    obj = pod()
    obj["spec"]["initContainers"] = [
        {"name": "done", "image": "i"},
        {"name": "sidecar", "image": "i", "restartPolicy": "Always"},
        {"name": "migrate", "image": "i"},
        {"name": "later", "image": "i"},
    ]
    obj["status"]["initContainerStatuses"] = [
        {"name": "done", "state": {"terminated": {"exitCode": 0}}},
        {"name": "sidecar", **running(started=True)},
        {"name": "migrate", **running()},
        {"name": "later", **waiting("PodInitializing")},
    ]
    (wait,) = ask(obj)
    assert wait.text == "init container migrate has not ended"


def test_claims_come_before_containers() -> None:
    """One that is not bound, one that is not there, and what the kubelet cannot mount."""
    obj = pod(waiting("ContainerCreating"))
    obj["spec"]["volumes"] = [
        {"name": "a", "persistentVolumeClaim": {"claimName": "data"}},
        {"name": "b", "persistentVolumeClaim": {"claimName": "gone"}},
    ]
    claim = {
        "metadata": {"name": "data", "creationTimestamp": START},
        "spec": {"storageClassName": "fast"},
        "status": {"phase": "Pending"},
    }
    said = event("FailedMount", 'MountVolume.SetUp failed: secret "tls" not found')
    texts = [wait.text for wait in ask(obj, said, claims=[claim])]
    assert texts == [
        "its claim gone is not there",
        "its claim data is Pending, not Bound",
        "a volume of it cannot be mounted",
    ]
    unread = ask(obj, claims_read=False)
    assert [wait.step for wait in unread] == ["kubelet"]


@pytest.mark.parametrize("reason", ["FailedMount", "FailedCreatePodSandBox"])
def test_what_is_overcome_is_not_waited_for(reason: str) -> None:
    """A mount that failed before the image was pulled holds nobody any more."""
    obj = pod(waiting("ContainerCreating"))
    failed = event(reason, "no such secret", "2026-01-01T10:01:00Z")
    pulling = event("Pulling", 'Pulling image "shop/web:2"', "2026-01-01T10:02:00Z")
    assert [wait.step for wait in ask(obj, failed, pulling)] == ["image"]
    assert ask(obj, failed)[0].step in {"volume", "sandbox"}


def test_another_container_s_probe_says_nothing_of_this_one() -> None:
    """Events name the container that they are about."""
    said = event("Unhealthy", "Readiness probe failed: 500")
    said["involvedObject"]["fieldPath"] = "spec.containers{other}"
    (wait,) = ask(pod(running(), container={"readinessProbe": {"httpGet": {"port": 80}}}), said)
    assert wait.words is None


def test_a_node_that_does_not_report_comes_first() -> None:
    """What the kubelet said before is old then."""
    silent = {"type": "Ready", "status": "Unknown", "lastTransitionTime": "2026-01-01T10:03:00Z"}
    node = {"metadata": {"name": "rack-1"}, "status": {"conditions": [silent]}}
    first, *_ = ask(pod(waiting("ImagePullBackOff")), nodes=[node])
    assert (first.text, first.since_seconds) == ("its node rack-1 does not report", NOW - 120)
    (gone, *_) = ask(pod(waiting("ImagePullBackOff")), nodes=[])
    assert gone.text == "its node rack-1 is not there any more"


def test_without_a_node() -> None:
    """The scheduler's own words with their age; gates hold it before that."""
    message = "0/3 nodes are available: 3 Insufficient cpu."
    refused = {
        "type": "PodScheduled",
        "status": "False",
        "message": message,
        "lastTransitionTime": START,
    }
    obj = pod(conditions=[refused])
    del obj["spec"]["nodeName"]
    (wait,) = ask(obj, event("FailedScheduling", message))
    assert (wait.step, wait.since_seconds) == ("node", NOW - 300)
    assert wait.words is not None
    assert (wait.words.text, wait.words.seconds) == (message, NOW - 60)
    obj["spec"]["schedulingGates"] = [{"name": "example.com/quota"}]
    (wait,) = ask(obj)
    assert wait.text == "scheduling gates hold it: example.com/quota"


def test_gates_of_readiness_are_last() -> None:
    """They count once every container is ready."""
    obj = pod(running(ready=True, started=True), phase="Running")
    obj["spec"]["readinessGates"] = [{"conditionType": "example.com/balancer"}]
    (wait,) = ask(obj)
    assert wait.text == "readiness gate example.com/balancer has no condition yet"
    obj["status"]["conditions"].append({"type": "example.com/balancer", "status": "True"})
    assert ask(obj) == ()


def test_a_pod_that_has_ended_or_is_going() -> None:
    """Neither starts any more; finalizers are named."""
    ended = pod(phase="Failed", reason="Evicted", message="The node was low on memory.")
    (wait,) = ask(ended)
    assert "Failed (Evicted)" in wait.text
    assert wait.words is not None
    going = pod(running(ready=True))
    going["metadata"] |= {
        "deletionTimestamp": "2026-01-01T10:04:30Z",
        "deletionGracePeriodSeconds": 30,
        "finalizers": ["example.com/backup"],
    }
    (wait,) = ask(going)
    assert "finalizers hold it: example.com/backup" in wait.text
    assert wait.since_seconds == NOW - 60


def test_who_set_the_image_of_its_deployment() -> None:
    """The topmost controller's template is where it is changed, and its managers are named."""
    obj = pod(waiting("ErrImagePull"))
    obj["metadata"]["ownerReferences"] = [{"uid": "rs", "controller": True}]
    image = {"f:spec": {"f:template": {"f:spec": {"f:containers": {container_key("c"): {"f:image": {}}}}}}}  # fmt: skip
    deployment = {
        "kind": "Deployment",
        "metadata": {
            "name": "web",
            "uid": "d",
            "managedFields": [
                {"manager": "helm", "operation": "Update", "time": START, "fieldsV1": image},
                {
                    "manager": "hpa",
                    "operation": "Update",
                    "fieldsV1": {"f:spec": {"f:replicas": {}}},
                },
            ],
        },
    }
    above = {"uid": "d", "controller": True}
    metadata = {"name": "web-5", "uid": "rs", "ownerReferences": [above]}
    replica_set = {"kind": "ReplicaSet", "metadata": metadata}
    (wait,) = ask(obj, owners=[deployment, replica_set])
    assert wait.who == "Deployment web (set by helm), or the registry"
    path = ("f:spec", "f:replicas")
    assert owners_of(deployment, path) == (FieldOwner("hpa", "Update", None),)


@pytest.mark.parametrize(
    ("words", "seconds"),
    [
        ("back-off 10s restarting failed container", 10.0),
        ("back-off 2m40s restarting failed container", 160.0),
        ("back-off 5m0s restarting failed container", 300.0),
        ("waits", None),
    ],
)
def test_delays_in_the_kubelet_s_words(words: str, seconds: float | None) -> None:
    """As Go writes durations."""
    assert delay_seconds(words) == seconds
