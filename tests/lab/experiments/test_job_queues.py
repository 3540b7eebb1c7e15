"""The arm `kueue`: the same Jobs through a queue with quota of the cluster's size; what it holds back is paid."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from foresail.experiment.job_queues import KUEUE, JobQueues
from foresail.experiment.trial import run_trial
from lab.experiments.arms import Arm, Queueing, arm_of
from lab.experiments.results import TrialResult
from lab.experiments.spec import Trial, Workload, World
from projections.score.prices import ScorePrices
from twin.port.engine import Change, Engine
from twin.port.objects import CLUSTER_QUEUES, LOCAL_QUEUES, WORKLOADS, ObjectRecord
from twin.port.settings import TwinConfig
from twin.port.workloads import NodeShape, WorkloadArrival

GIB = 2**30
MIXED = Workload(name="mixed", plays=str(Path(__file__).with_name("mixed_world.csv")))
WORLD = World.model_validate({"nodes": 4, "warm_up": "0s", "length": "8m", "weather": "off"})
SHUT: Mapping[str, Any] = {"name": "shut", "base": "kueue", "queues": {"quota_ratio": 0.05}}
"""Quota for less than the smallest Job."""


def _played(arm: Mapping[str, Any]) -> TrialResult:
    return run_trial(Trial(WORLD, MIXED, Arm.model_validate(arm), 1), "made-up", None).result


@pytest.fixture(scope="module")
def played() -> Mapping[str, TrialResult]:
    """Return what came of the same small world without queues, with them, and with too little quota."""
    return {name: _played(arm) for name, arm in
            (("none", arm_of("none")), ("kueue", arm_of("kueue")), ("shut", SHUT))}  # fmt: skip


def test_every_arm_meets_the_same_demand(played: Mapping[str, TrialResult]) -> None:
    """What Kueue does to Jobs on their way in is none of what the world asks for."""
    assert len({one.stimulus for one in played.values()}) == 1


def test_where_there_is_room_all_jobs_run(played: Mapping[str, TrialResult]) -> None:
    """A queue of the cluster's size keeps nobody for more than moments."""
    none, kueue = played["none"].metrics, played["kueue"].metrics
    assert kueue["jobs_completed"] == none["jobs_completed"] == 3
    assert 0 < kueue["held_pod_hours"] < 1 / 3_600


def test_held_jobs_are_paid_as_held(played: Mapping[str, TrialResult]) -> None:
    """A quota that lets nobody in saves energy and costs more than it saves."""
    none, shut = played["none"], played["shut"]
    assert shut.metrics["jobs_completed"] == 0
    assert shut.metrics["energy_kwh"] < none.metrics["energy_kwh"]
    paid = -ScorePrices().held_pod_hour * shut.metrics["held_pod_hours"] / (8 / 60)
    assert shut.components["held"] == pytest.approx(
        paid, rel=0.1
    )  # its first and last look are not at the ends
    worse = shut.metrics["score_dollars_per_hour"] - none.metrics["score_dollars_per_hour"]
    assert worse < 0.5 * paid < 0


def test_the_game_is_repeatable(played: Mapping[str, TrialResult]) -> None:
    """Played again it ends in the same cluster, with the same figures."""
    assert _played(arm_of("kueue")) == played["kueue"]


def _engine(queueing: Queueing) -> Engine:
    engine = Engine(TwinConfig(kueue=KUEUE), 1)
    engine.add_nodes(
        [NodeShape("n1", 4_000, 16 * GIB, 0, {}), NodeShape("n2", 2_000, 8 * GIB, 0, {})]
    )
    engine.load(_arrivals())
    JobQueues(engine, queueing)
    return engine


def _arrivals() -> Iterator[WorkloadArrival]:
    """Two Jobs of four cores, in two new namespaces, the first before Kueue's kinds are served."""
    for number, seconds in enumerate((0.0, 5.0)):
        yield WorkloadArrival(
            name=f"job-{number}", namespace=f"team-{number}", time_seconds=seconds, kind="task",
            cpu_request_millicores=1_000, memory_request_bytes=GIB, gpus=0, cpu_usage_ratio=0.5,
            memory_usage_ratio=0.5, replicas=4, duration_seconds=60.0, outcome="succeed",
        )  # fmt: skip


def _admitted(engine: Engine) -> list[str]:
    found = []
    for one in engine.store.list(WORKLOADS):
        rows = {row["type"]: row["status"] for row in one["status"].get("conditions", ())}
        if rows.get("Admitted") == "True":
            found.append(one["metadata"]["namespace"])
    return sorted(found)


def test_quota_is_what_all_machines_offer() -> None:
    """Every resource that a machine names, times the arm's ratio."""
    engine = _engine(Queueing(quota_ratio=0.5))
    engine.advance(engine.now + 3.0)
    (queue,) = engine.store.list(CLUSTER_QUEUES)
    (group,) = queue["spec"]["resourceGroups"]
    quota = {row["name"]: str(row["nominalQuota"]) for row in group["flavors"][0]["resources"]}
    assert (quota["cpu"], quota["memory"]) == ("3", "12Gi")
    assert set(quota) == set(group["coveredResources"]) >= {"cpu", "memory", "pods"}


def test_no_job_gets_past_the_queue() -> None:
    """Not the first one of a namespace either; whole Jobs wait, and none of their pods."""
    engine = _engine(Queueing())
    came: list[bool] = []

    def follow(change: Change) -> None:
        if change.resource == "jobs" and change.type == "ADDED":
            assert isinstance(change.record, ObjectRecord)
            came.append(bool(change.record.body["spec"].get("suspend")))

    engine.store.subscribe(follow)
    engine.advance(engine.now + 30.0)
    assert came == [True, True]
    assert _admitted(engine) == ["team-0"]
    jobs = {one["metadata"]["name"]: one for one in engine.store.list("jobs")}
    assert [jobs[name]["spec"]["suspend"] for name in sorted(jobs)] == [False, True]
    assert {one["metadata"]["namespace"] for one in engine.store.list("pods")} == {"team-0"}
    assert len(list(engine.store.list(LOCAL_QUEUES))) == 2
    engine.advance(engine.now + 60.0)
    assert "team-1" in _admitted(engine)


@pytest.mark.parametrize("more", [{"acts": True}, {"oracle": {}}])
def test_two_who_suspend_jobs_are_refused(more: Mapping[str, Any]) -> None:
    """In one line with the remedy."""
    with pytest.raises(ValueError, match="give queues to an arm that does not act"):
        Arm.model_validate({"name": "both", "queues": {}, **more})
