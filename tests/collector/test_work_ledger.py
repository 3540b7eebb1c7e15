"""Work is counted by transitions of objects, so that no counter falls when objects are removed."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from schemas.work import WorkCounters
from services.collector.cluster import read_every_list
from services.collector.work_ledger import WorkLedger, WorkRules, count_work
from services.collector.work_metrics import WorkMetrics
from services.held import HELD
from services.twin_transport import TwinTransport
from tests.builders import START_SECONDS
from tests.collector.scripted_cluster import ScriptedCluster, pod, stamp

RULES = WorkRules(overdue_seconds=20.0)
WEB = {"kind": "Deployment", "name": "web", "controller": True}
BATCH = {"kind": "Job", "name": "batch", "controller": True}


def job(name: str, *, succeeded: int = 0, ended: str = "", **changes: Any) -> dict[str, Any]:
    """Return a Job; `ended` is the condition that it got, at `at`."""
    at = stamp(changes.get("at", START_SECONDS))
    conditions = [{"type": ended, "status": "True", "lastTransitionTime": at}] if ended else []
    return {
        "metadata": {
            "name": name,
            "namespace": changes.get("namespace", "shop"),
            "uid": changes.get("uid", f"uid-{name}"),
            "creationTimestamp": stamp(changes.get("created", START_SECONDS)),
        },
        "spec": {
            "parallelism": changes.get("parallelism", 1),
            "suspend": changes.get("suspend", False),
            "ttlSecondsAfterFinished": changes.get("ttl", 300),
        },
        "status": {"succeeded": succeeded, "conditions": conditions},
    }


def look(
    ledger: WorkLedger, seconds: float, metrics: WorkMetrics | None = None, **objects: Any
) -> WorkLedger:
    """Return the ledger after a look so many seconds after the start."""
    cluster = ScriptedCluster(**objects)
    cluster.now = START_SECONDS + seconds
    reads = asyncio.run(read_every_list(TwinTransport(cluster), cluster.now))
    return count_work(ledger, reads, metrics, cluster.now, RULES)


def counted(*looks: dict[str, Any], begin: WorkLedger | None = None) -> WorkCounters:
    """Return the counters after looks ten seconds apart."""
    ledger = WorkLedger() if begin is None else begin
    for number, objects in enumerate(looks):
        ledger = look(ledger, 10.0 * number, **objects)
    return ledger.counters


def test_a_completed_job_counts_once_and_stays_when_its_ttl_removes_it() -> None:
    """Three completions and one end are counted, however long the Job is kept."""
    running, ended = job("a", succeeded=1), job("a", succeeded=3, ended="Complete")
    counters = counted({"jobs": [running]}, {"jobs": [ended]}, {"jobs": [ended]}, {"jobs": []})
    assert (counters.jobs_completed, counters.tasks_completed) == (1, 2)
    assert (counters.jobs_failed, counters.jobs_dropped) == (0, 0)


def test_a_job_of_the_same_name_with_another_uid_is_another_job() -> None:
    """Replacing a Job that completed counts the new one's completion too."""
    first, second = (job("a", succeeded=1, ended="Complete", uid=uid) for uid in ("u1", "u2"))
    counters = counted({"jobs": []}, {"jobs": [first]}, {"jobs": [second]})
    assert (counters.jobs_completed, counters.tasks_completed) == (2, 2)


def test_a_job_that_is_removed_before_its_end_is_dropped() -> None:
    """Deleting demand is counted, and a failed Job is no dropped one."""
    failed = job("b", ended="Failed")
    counters = counted({"jobs": [job("a"), job("b")]}, {"jobs": [job("a"), failed]}, {"jobs": []})
    assert (counters.jobs_dropped, counters.jobs_failed, counters.jobs_completed) == (1, 1, 0)


def test_a_ttl_shorter_than_a_cycle_hides_no_completion() -> None:
    """A Job that may have ended and been removed between two looks counts as completed."""
    counters = counted({"jobs": [job("a", ttl=5)]}, {"jobs": []})
    assert (counters.jobs_completed, counters.tasks_completed, counters.jobs_dropped) == (1, 1, 0)


def test_what_was_there_at_the_first_look_is_not_counted() -> None:
    """Counters begin with the first look: old ends, restarts and Succeeded pods are not in them."""
    old = {
        "jobs": [job("a", succeeded=9, ended="Complete")],
        "pods": [pod("done", phase="Succeeded"), pod("p", statuses=[{"restartCount": 4}])],
    }
    assert counted(old, old) == WorkCounters()


def test_after_a_restart_what_ended_since_the_newest_snapshot_counts() -> None:
    """The log's counters go on; a Job that ended before them is not counted again."""
    begin = WorkLedger(WorkCounters(jobs_completed=5, tasks_completed=7), START_SECONDS + 100.0)
    ended = [
        job("before", succeeded=1, ended="Complete", at=START_SECONDS + 90.0),
        job("since", succeeded=1, ended="Complete", at=START_SECONDS + 110.0),
    ]
    after = look(begin, 120.0, jobs=ended)
    again = look(after, 130.0, jobs=ended)
    assert (again.counters.jobs_completed, again.counters.tasks_completed) == (6, 8)


def test_a_source_that_fails_leaves_the_counters_and_is_made_up_for() -> None:
    """Jobs that could not be read were not dropped; their end counts at the next look."""
    ledger = look(WorkLedger(), 0.0, jobs=[job("a")])
    cluster = ScriptedCluster(jobs=[])
    cluster.failures["jobs"] = 500
    reads = asyncio.run(read_every_list(TwinTransport(cluster), START_SECONDS + 10.0))
    ledger = count_work(ledger, reads, None, START_SECONDS + 10.0, RULES)
    assert ledger.counters == WorkCounters()
    ledger = look(ledger, 20.0, jobs=[job("a", succeeded=1, ended="Complete")])
    assert ledger.counters.jobs_completed == 1


def test_waiting_counts_by_class_and_beyond_its_limit_as_overdue() -> None:
    """Two pods wait for 10 + 10 s and 5 s; of the first, 20 s old at the first look, 20 s are overdue."""
    old = pod("a", phase="Pending", node="", created=START_SECONDS - 20.0)
    young = pod("b", phase="Pending", node="", created=START_SECONDS + 5.0)
    young["spec"]["priorityClassName"] = "gold"
    counters = counted({"pods": [old]}, {"pods": [old, young]}, {"pods": [old]})
    assert counters.waiting_pod_seconds == {"gold": 5.0, "none": 20.0}
    assert counters.overdue_pod_seconds == 20.0


def test_held_demand_counts_suspended_jobs_and_deployments_that_were_scaled_down() -> None:
    """A suspended Job of 3 pods and a Deployment held at 0 of 4 hold 7 pods back, for 10 s."""
    held = {
        "metadata": {
            "name": "web",
            "namespace": "shop",
            "creationTimestamp": stamp(START_SECONDS),
            "annotations": {HELD: json.dumps({"replicas": 4})},
        },
        "spec": {"replicas": 0},
        "status": {},
    }
    objects = {"jobs": [job("a", parallelism=3, suspend=True)], "deployments": [held]}
    assert counted(objects, objects).held_pod_seconds == 70.0
    held["metadata"]["annotations"][HELD] = '{"replicas": -1}'  # not ours to read
    assert counted(objects, objects).held_pod_seconds == 30.0


def test_a_running_pod_that_is_replaced_is_an_eviction_and_a_smaller_workload_is_none() -> None:
    """One of two pods is replaced; then the Deployment shrinks to one pod."""
    first, second, third = (pod(name, owner=WEB) for name in ("p1", "p2", "p3"))
    counters = counted({"pods": [first, second]}, {"pods": [second, third]}, {"pods": [third]})
    assert counters.evictions == 1


def test_a_marked_pod_is_one_eviction_however_long_it_takes_to_go() -> None:
    """The mark counts when it is first seen, and the pod's end adds nothing."""
    marked = pod("p1", owner=BATCH)
    marked["status"]["conditions"].append({"type": "DisruptionTarget", "status": "True"})
    replaced = pod("p2", owner=BATCH)
    counters = counted(
        {"pods": [pod("p1", owner=BATCH)]},
        {"pods": [marked, replaced]},
        {"pods": [marked, replaced]},
        {"pods": [replaced]},
    )
    assert counters.evictions == 1


def test_restarts_and_bare_pods_count_by_uid() -> None:
    """Two restarts of one container, one of a new pod, and one pod that Succeeded without a Job."""
    restarted = pod("p", statuses=[{"restartCount": 2}])
    new = pod("q", statuses=[{"restartCount": 1}])
    done = pod("task", phase="Succeeded")
    of_job = pod("worker", phase="Succeeded", owner=BATCH)
    counters = counted({"pods": [pod("p")]}, {"pods": [restarted, new, done, of_job]})
    assert (counters.restarts, counters.tasks_completed) == (3, 1)


def test_namespaces_of_kubernetes_itself_do_not_count() -> None:
    """Waiting in kube-system is nobody's demand unless settings watch it."""
    waiting = pod("dns", namespace="kube-system", phase="Pending", node="")
    assert counted({"pods": [waiting]}, {"pods": [waiting]}) == WorkCounters()
