"""A look at what has changed alone says the same as a look at everything."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from schemas.reasons import Reason
from services.collector.health import HealthTimes
from services.collector.pod_rows import SnapshotLimits, pod_rows
from services.collector.pod_sums import PodSums
from services.collector.reading import CycleReads, ListRead, failed_read
from services.collector.work_ledger import CountedObjects, WorkLedger, WorkRules, count_work
from services.kube_objects import Pod
from services.kube_workloads import Job
from tests.builders import START_SECONDS
from tests.collector.scripted_cluster import pod, stamp

LOOK_SECONDS = 10.0
RULES = WorkRules(overdue_seconds=15.0)


def drawn_pod(dice: random.Random, number: int, now: float) -> Pod:
    """Return a pod in any state; the same number is the same pod."""
    phase = dice.choice(["Pending", "Running", "Running", "Failed", "Succeeded"])
    ended = {"terminated": {"reason": "Error", "finishedAt": stamp(now - dice.randrange(30))}}
    fields: dict[str, Any] = {
        "phase": phase,
        "at": now - dice.randrange(30),
        "ready": phase == "Running" and dice.random() < 0.7,
        "node": "" if phase == "Pending" else dice.choice(["n1", "n2"]),
        "namespace": dice.choice(["shop", "shop", "kube-system"]) if number % 5 == 0 else "shop",
        "statuses": [
            {
                "restartCount": dice.choice([0, 0, 2]),
                "ready": phase == "Running",
                "lastState": {"terminated": {"finishedAt": stamp(now - dice.randrange(60))}},
                "state": ended if phase in {"Failed", "Succeeded"} else {},
            }
        ],
        "owner": {"kind": "ReplicaSet", "name": f"web-{number % 3}", "controller": True},
    }
    return msgspec.json.decode(json.dumps(pod(f"p{number:02}", **fields)), type=Pod)


def drawn_job(dice: random.Random, number: int, now: float) -> Job:
    """Return a Job in any state."""
    ended = dice.choice(["", "Complete", "Failed"])
    conditions = [{"type": ended, "status": "True", "lastTransitionTime": stamp(now)}]
    body = {
        "metadata": {"name": f"j{number}", "namespace": "shop", "uid": f"uid-j{number}",
                     "creationTimestamp": stamp(START_SECONDS)},
        "spec": {"parallelism": 2, "suspend": dice.random() < 0.3, "ttlSecondsAfterFinished": 60},
        "status": {"succeeded": dice.randrange(3), "conditions": conditions if ended else []},
    }  # fmt: skip
    return msgspec.json.decode(json.dumps(body), type=Job)


def looks(seed: int) -> Iterator[tuple[float, list[Pod], list[Job]]]:
    """Yield times and lists in which some objects stay, some change, some come and some go."""
    dice = random.Random(seed)
    pods: dict[int, Pod] = {}
    jobs: dict[int, Job] = {}
    for number in range(40):
        now = START_SECONDS + LOOK_SECONDS * number
        for place in dice.sample(range(20), 4):
            pods[place] = drawn_pod(dice, place, now)
            jobs[place] = drawn_job(dice, place, now)
            pods.pop(dice.randrange(20), None)
            jobs.pop(dice.randrange(20), None)
        yield now, [pods[place] for place in sorted(pods)], [jobs[place] for place in sorted(jobs)]


@pytest.mark.parametrize("timed", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_sums_of_changed_pods_are_those_of_all_pods(seed: int, *, timed: bool) -> None:
    """Placements, rows and totals are the same, also when failures grow too old to count and time goes back."""
    sums = PodSums()
    for number, (now, pods, _) in enumerate(looks(seed)):
        since = now - LOOK_SECONDS * (5 if number == 25 else 1)
        health = HealthTimes(45.0, 22.0) if timed else None
        cuts = SnapshotLimits(since, failed_pod_seconds=25.0, listed_pods=6, health=health)
        assert sums.look(pods, now, cuts) == pod_rows(pods, now, cuts)
    doubled = [*pods, pods[0]]
    assert sums.look(doubled, now, cuts) == pod_rows(doubled, now, cuts)


def reads(now: float, pods: list[Pod], jobs: list[Job], *, fails: bool) -> CycleReads:
    """Return what was read; with `fails` nobody could list pods."""
    nothing: ListRead[Any] = ListRead(failed_read("nothing", now, Reason.SOURCE_ERROR, ""))
    shown = nothing.source.model_copy(update={"ok": True})
    return CycleReads(
        nodes=ListRead(shown),
        pods=ListRead(nothing.source) if fails else ListRead(shown, tuple(pods)),
        deployments=ListRead(shown),
        jobs=ListRead(shown, tuple(jobs)),
        node_metrics=ListRead(shown),
        autoscalers=ListRead(shown),
    )


@pytest.mark.parametrize("seed", range(5))
def test_counting_changed_objects_is_counting_all(seed: int) -> None:
    """The ledger is the same at each look, also after pods could not be listed and after another's ledger."""
    counted, short, whole = CountedObjects(), WorkLedger(), WorkLedger()
    for number, (now, pods, jobs) in enumerate(looks(seed)):
        read = reads(now, pods, jobs, fails=number == 12)
        if number == 30:  # as a collector does that takes over what another has seen
            short = whole = WorkLedger(whole.counters, whole.time_seconds, {}, {})
        short = count_work(short, read, None, now, RULES, counted)
        whole = count_work(whole, read, None, now, RULES)
        assert short == whole
    assert whole.counters.evictions > 0
    assert whole.counters.jobs_dropped > 0
    assert whole.counters.waiting_pod_seconds
