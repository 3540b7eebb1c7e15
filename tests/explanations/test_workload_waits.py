"""What Deployments, StatefulSets, DaemonSets and Jobs wait for, besides their pods."""

from __future__ import annotations

from typing import Any

import pytest

from lab.explanations.frozen_cluster import unix_seconds
from lab.explanations.job_waits import job_state, job_waits
from lab.explanations.refused_pods import refusals
from lab.explanations.waits import Surroundings, Wait
from lab.explanations.why_not_started import why_workload_not_started
from lab.explanations.workload_waits import Workload, share_of, workload_waits

Object = dict[str, Any]
START = "2026-01-01T10:00:00Z"
NOW = unix_seconds("2026-01-01T10:05:00Z") or 0.0
REVISION = "deployment.kubernetes.io/revision"


def deployment(spec: Object | None = None, **status: Any) -> Object:
    """Return a Deployment of four pods."""
    return {
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop", "uid": "d", "generation": 2},
        "spec": {"replicas": 4, **(spec or {})},
        "status": {"observedGeneration": 2, **status},
    }


def replica_set(revision: int, wanted: int, there: int) -> Object:
    """Return one of its ReplicaSets."""
    return {
        "kind": "ReplicaSet",
        "metadata": {
            "name": f"web-{revision}",
            "namespace": "shop",
            "uid": f"rs{revision}",
            "annotations": {REVISION: str(revision)},
        },
        "spec": {"replicas": wanted},
        "status": {"replicas": there},
    }


def refused(message: str, uid: str = "rs2") -> Object:
    """Return the event of a controller that could not make a pod."""
    return {
        "metadata": {"name": "e"},
        "involvedObject": {"uid": uid},
        "reason": "FailedCreate",
        "message": message,
        "lastTimestamp": START,
    }


def ask(obj: Object, *sets: Object, pods: tuple[Object, ...] = (), **around: Any) -> list[Wait]:
    """Return what a workload waits for."""
    return list(workload_waits(Workload(obj, pods, sets), Surroundings(NOW, **around)))


def test_nothing_is_waited_for() -> None:
    """All pods are there and of the newest template."""
    obj = deployment(replicas=4, availableReplicas=4, updatedReplicas=4, readyReplicas=4)
    assert ask(obj, replica_set(1, 0, 0), replica_set(2, 4, 4)) == []


@pytest.mark.parametrize(
    ("spec", "status", "step"),
    [
        ({"replicas": 0}, {}, "replicas"),
        ({"paused": True}, {}, "paused"),
        ({}, {"observedGeneration": 1}, "controller"),
        (
            {},
            {"conditions": [{"type": "Progressing", "status": "False", "message": "m"}]},
            "rollout",
        ),
    ],
)
def test_what_its_spec_or_status_says(spec: Object, status: Object, step: str) -> None:
    """No pods wanted, paused, not looked at, past its deadline."""
    assert [wait.step for wait in ask(deployment(spec, **status))] == [step]


def test_both_bounds_of_a_rolling_update() -> None:
    """A quarter of four: one more at most, and three available at least."""
    obj = deployment(replicas=5, availableReplicas=3)
    texts = [wait.text for wait in ask(obj, replica_set(1, 3, 3), replica_set(2, 2, 2))]
    assert texts == [
        "another new pod may come when an old one goes: 5 pods of at most 5 (4 and maxSurge 1)",
        "an old pod may go when a new one is available: 3 available of at least 3 (4 less maxUnavailable 1)",
    ]
    recreating = deployment({"strategy": {"type": "Recreate"}})
    (wait,) = ask(recreating, replica_set(1, 0, 3), replica_set(2, 0, 0))
    assert wait.text == "new pods come when 3 old pods are gone (Recreate)"


@pytest.mark.parametrize(
    ("amount", "up", "pods"),
    [("25%", True, 2), ("25%", False, 1), ("0%", True, 0), (3, True, 3), ("100%", False, 7)],
)
def test_shares_are_rounded_as_the_controller_does(amount: int | str, up: bool, pods: int) -> None:
    """maxSurge up, maxUnavailable down; of seven."""
    assert share_of(amount, 7, up=up) == pods


def test_ready_and_not_long_enough() -> None:
    """minReadySeconds from the moment of readiness on."""
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T10:04:50Z"}
    young = {"metadata": {"name": "p"}, "spec": {}, "status": {"conditions": [ready]}}
    obj = deployment({"minReadySeconds": 30}, replicas=4, availableReplicas=3)
    (wait,) = ask(obj, replica_set(2, 4, 4), pods=(young,))
    assert (wait.since_seconds, wait.until_seconds) == (NOW - 10, NOW + 20)


QUOTA = (
    'pods "web-2-x" is forbidden: exceeded quota: compute, requested: requests.cpu=1,pods=1, '
    "used: requests.cpu=4,pods=3, limited: requests.cpu=4,pods=10"
)


def test_a_quota_that_is_full() -> None:
    """What it holds now, by the quota itself, and that it is the one to change."""
    quota = {
        "metadata": {"name": "compute"},
        "status": {"hard": {"requests.cpu": "4", "pods": "10"}, "used": {"requests.cpu": "3500m", "pods": "3"}},
    }  # fmt: skip
    newest = replica_set(2, 4, 3)
    (wait,) = ask(deployment(), newest, events=[refused(QUOTA)], quotas=[quota])
    assert wait.step == "quota"
    assert wait.text == (
        "quota compute leaves no room for its pods: requests.cpu 3500m of 4 used, a pod asks for 1, "
        "pods 3 of 10 used, a pod asks for 1"
    )
    assert wait.who.startswith("ResourceQuota compute")
    quota["status"]["used"]["requests.cpu"] = "3"
    (wait,) = ask(deployment(), newest, events=[refused(QUOTA)], quotas=[quota])
    assert wait.text.startswith("quota compute left no room for its pods, and has some now")
    (wait,) = ask(deployment(), newest, events=[refused(QUOTA)])
    assert "requests.cpu 4 of 4 used" in wait.text
    assert ask(deployment(), replica_set(2, 4, 4), events=[refused(QUOTA)], quotas=[quota]) == []


def test_a_refusal_that_is_over_is_not_told() -> None:
    """A pod was made since, or all of them are there."""
    made = {**refused(QUOTA), "reason": "SuccessfulCreate", "lastTimestamp": "2026-01-01T10:01:00Z"}
    assert not list(refusals(replica_set(2, 4, 3), Surroundings(NOW, [refused(QUOTA), made])))
    event = refused(QUOTA, uid="s")
    whole: Object = {
        "kind": "StatefulSet",
        "metadata": {"name": "db", "namespace": "shop", "uid": "s"},
        "spec": {"replicas": 1},
        "status": {"updateRevision": "new"},
    }
    assert ask(whole, pods=(stateful_pod(0, ready=True),), events=[event]) == []
    assert [wait.step for wait in ask(whole, events=[event])] == ["quota"]


@pytest.mark.parametrize(
    ("message", "step", "who"),
    [
        ('pods "w" is forbidden: error looking up service account shop/run: serviceaccount "run" not found',
         "account", "who makes service account run"),
        ('admission webhook "check.example.com" denied the request: no',
         "admission", "who runs webhook check.example.com"),
        ("pods \"w\" is forbidden: ValidatingAdmissionPolicy 'images' with binding 'b' denied request: no",
         "admission", "who set policy images"),
        ('pods "w" is forbidden: violates PodSecurity "restricted:latest": runAsNonRoot',
         "admission", "the namespace's pod-security label"),
    ],
)  # fmt: skip
def test_who_else_forbids_pods(message: str, step: str, who: str) -> None:
    """Read from the controller's words."""
    maker = replica_set(2, 1, 0)
    (wait,) = refusals(maker, Surroundings(NOW, [refused(message)]))
    assert wait.step == step
    assert wait.who.startswith(who)
    assert wait.words is not None


def stateful_pod(ordinal: int, *, ready: bool, revision: str = "new") -> Object:
    """Return a StatefulSet's pod."""
    return {
        "metadata": {
            "name": f"db-{ordinal}",
            "namespace": "shop",
            "labels": {"controller-revision-hash": revision},
        },
        "spec": {},
        "status": {"conditions": [{"type": "Ready", "status": str(ready)}]},
    }


def test_a_stateful_set_waits_for_the_one_before() -> None:
    """Ordered: the first that is not ready holds the rest; a partition and OnDelete keep old pods."""
    obj: Object = {
        "kind": "StatefulSet",
        "metadata": {"name": "db", "namespace": "shop", "uid": "s"},
        "spec": {"replicas": 3},
        "status": {"updateRevision": "new"},
    }
    pods = (stateful_pod(0, ready=True), stateful_pod(1, ready=False))
    (wait,) = ask(obj, pods=pods)
    assert "the next waits until db-1 is ready" in wait.text
    obj["spec"] |= {"replicas": 2, "updateStrategy": {"rollingUpdate": {"partition": 1}}}
    (wait,) = ask(obj, pods=(stateful_pod(0, ready=True, revision="old"), pods[1]))
    assert wait.text == "1 pod keeps the old template: partition 1"
    obj["spec"]["updateStrategy"] = {"type": "OnDelete"}
    (wait,) = ask(obj, pods=(stateful_pod(0, ready=True, revision="old"), pods[1]))
    assert wait.text == "1 pod keeps the old template until deleted (OnDelete)"


def test_a_daemon_set_without_a_node() -> None:
    """No node matches."""
    obj = {"kind": "DaemonSet", "metadata": {"name": "n", "uid": "x"}, "spec": {}, "status": {}}
    (wait,) = ask(obj)
    assert wait.text.startswith("no node is one of its own")


def job(spec: Object | None = None, labels: Object | None = None, **status: Any) -> Object:
    """Return a Job of three completions."""
    return {
        "kind": "Job",
        "metadata": {"name": "j", "namespace": "shop", "uid": "j", "labels": labels or {}},
        "spec": {"completions": 3, "parallelism": 2, **(spec or {})},
        "status": status,
    }


def ended_pod(phase: str, at: str) -> Object:
    """Return a pod of a Job that has ended."""
    state = {"terminated": {"finishedAt": at}}
    return {
        "metadata": {"name": at, "namespace": "shop"},
        "spec": {},
        "status": {"phase": phase, "containerStatuses": [{"state": state}]},
    }


def test_a_job_that_is_suspended() -> None:
    """By Kueue's queue, or by whoever set it."""
    (wait,) = job_waits(job({"suspend": True}), (), Surroundings(NOW))
    assert wait.who == "spec.suspend of Job j"
    queued = job({"suspend": True}, {"kueue.x-k8s.io/queue-name": "batch"})
    (wait,) = job_waits(queued, (), Surroundings(NOW))
    assert wait.text == "it is suspended until Kueue admits it in queue batch"


def test_a_job_waits_after_failures() -> None:
    """Ten seconds, twice as long for each failure in a row; a success begins anew."""
    failures = [ended_pod("Failed", f"2026-01-01T10:04:{second}Z") for second in (10, 30, 50)]
    (wait,) = job_waits(job(active=0), failures, Surroundings(NOW))
    assert (wait.since_seconds, wait.until_seconds) == (NOW - 10, NOW + 30)
    success = ended_pod("Succeeded", "2026-01-01T10:04:40Z")
    assert list(job_waits(job(), [*failures, success], Surroundings(NOW))) == []
    assert list(job_waits(job(active=2), failures, Surroundings(NOW))) == []


def test_a_job_that_has_ended() -> None:
    """Its condition's words."""
    failed = {"type": "Failed", "status": "True", "reason": "DeadlineExceeded", "message": "m"}
    (wait,) = job_waits(job(conditions=[failed], failed=2), (), Surroundings(NOW))
    assert "Failed (DeadlineExceeded)" in wait.text
    assert job_state(job(succeeded=1, failed=2)) == "1 of 3 done, 0 running or starting, 2 failed"


def test_pods_that_wait_for_the_same_are_told_together() -> None:
    """Whatever their numbers; the largest group is first, and since when is the earliest."""

    def looping(name: str, restarts: int, at: str) -> Object:
        state = {"waiting": {"reason": "CrashLoopBackOff"}}
        last = {"terminated": {"exitCode": 1, "finishedAt": at}}
        status = {"name": "c", "state": state, "lastState": last, "restartCount": restarts}
        return {
            "kind": "Pod",
            "metadata": {"name": name, "namespace": "shop"},
            "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]},
            "status": {"phase": "Running", "containerStatuses": [status]},
        }

    other = looping("c", 1, START)
    other["status"]["containerStatuses"][0]["state"] = {"waiting": {"reason": "ErrImagePull"}}
    pods = (other, looping("b", 3, "2026-01-01T10:04:00Z"), looping("a", 12, START))
    found = why_workload_not_started(
        Workload(deployment(replicas=3, readyReplicas=0), pods, (replica_set(2, 4, 3),)),
        Surroundings(NOW, nodes_read=False),
        ["nodes"],
    )
    assert [group.pods for group in found.pods] == [("a", "b"), ("c",)]
    assert found.pods[0].wait.since_seconds == NOW - 300
    assert found.state == "0 of 4 pods ready, 3 there, 0 of them of the newest template"
    assert found.unknown[0] == "whether nodes report: nodes could not be read"
