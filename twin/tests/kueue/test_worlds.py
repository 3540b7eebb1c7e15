"""A world with Kueue: journaled, restored, cloned, and told apart from one without."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from inputs.errors import ConfigError, InputError
from twin.__main__ import build_engine as build_world
from twin.api.journal import Journal
from twin.api.messages import Request, Response
from twin.api.router import Router
from twin.checkpoint import Checkpoint
from twin.config import START_2026, TwinConfig
from twin.config.kueue import KueueConfig, PodsReadyConfig
from twin.encoding import state_lines
from twin.engine import Engine
from twin.kueue.configuration import configuration_of, read_configuration
from twin.settings import TwinSettings, kueue_of
from twin.tests.kueue.playing import Play
from twin.tests.kueue.ports import InProcessPort, build_engine
from twin.tests.kueue.table import CASES
from twin.world_settings import world_of

PLAIN = TwinSettings(seed=5, nodes=2, workload="idle", start_time_seconds=START_2026)
WORLD = PLAIN.model_copy(update={"kueue": "on"})
KUEUE = "/apis/kueue.x-k8s.io/v1beta2"


def _post(path: str, body: dict[str, Any]) -> Request:
    headers = {"content-type": "application/json"}
    return Request("POST", path, {"fieldManager": "test"}, headers, json.dumps(body).encode())


def _kueue(kind: str, plural: str, spec: dict[str, Any], name: str, inside: str = "") -> Request:
    body = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "spec": spec}
    return _post(f"{KUEUE}{inside}/{plural}", {**body, "metadata": {"name": name}})


def _job(name: str, cpu: int) -> Request:
    resources = {"requests": {"cpu": str(cpu)}}
    inner = {
        "containers": [{"name": "c", "image": "work:1", "resources": resources}],
        "restartPolicy": "Never",
    }
    notes = {"foresail.dev/work-seconds": "20"}
    spec = {"template": {"metadata": {"annotations": notes}, "spec": inner}}
    head = {"name": name, "labels": {"kueue.x-k8s.io/queue-name": "lq"}}
    return _post("/apis/batch/v1/namespaces/default/jobs", {"metadata": head, "spec": spec})


def _writes() -> list[Request]:
    quotas = [{"name": "f", "resources": [{"name": "cpu", "nominalQuota": 2}]}]
    groups = [{"coveredResources": ["cpu"], "flavors": quotas}]
    return [
        _kueue("ResourceFlavor", "resourceflavors", {}, "f"),
        _kueue("ClusterQueue", "clusterqueues",
               {"namespaceSelector": {}, "resourceGroups": groups}, "cq"),
        _kueue("LocalQueue", "localqueues", {"clusterQueue": "cq"}, "lq", "/namespaces/default"),
        *(_job(f"job-{number}", 1 + number % 2) for number in range(6)),
    ]  # fmt: skip


def _live(path: Path) -> Engine:
    """Let queued Jobs begin; the last ones still wait."""
    engine = build_world(WORLD)
    journal = Journal(path, world_of(WORLD))
    journal.replay(engine)
    router = Router(engine)
    for request in _writes():
        journal.reserve(engine.now + 1.0, 0.5)
        engine.advance(engine.now + 1.0)
        answer = router.handle(request)
        assert isinstance(answer, Response)
        assert answer.status == 201, answer.body
        journal.note(engine.now, request, "admin")
    journal.reserve(engine.now + 30.0, 0.5)
    engine.advance(engine.now + 30.0)
    journal.close()
    return engine


def _finished(engine: Engine) -> list[str]:
    return [
        obj["metadata"]["ownerReferences"][0]["name"]
        for obj in engine.store.list("workloads.kueue.x-k8s.io")
        if any(c["type"] == "Finished" for c in obj["status"].get("conditions", ()))
    ]


def test_a_restarted_world_is_the_same_world(tmp_path: Path) -> None:
    """Queued Jobs are where they were after the journal was re-run, after a checkpoint, and in a clone;
    and all of them end alike."""
    path = tmp_path / "journal"
    first = _live(path)
    assert 0 < len(_finished(first)) < 6
    second, journal = build_world(WORLD), Journal(path, world_of(WORLD))
    journal.replay(second, until=first.now)
    journal.close()
    assert first.state_hash() == second.state_hash()
    checkpoint = Checkpoint.of(first, world_of(WORLD).line(), journal_bytes=0, marked=first.now)
    checkpoint.write(tmp_path / "kept")
    third = build_world(WORLD)
    Checkpoint.read(tmp_path / "kept", world_of(WORLD).line()).restore(third, tmp_path / "kept")
    fourth = first.clone()
    for engine in (first, third, fourth):
        engine.advance(engine.now + 240.0)
        assert len(_finished(engine)) == 6
    assert first.state_hash() == third.state_hash() == fourth.state_hash()


def test_a_checkpoint_in_the_midst(tmp_path: Path) -> None:
    """What was noted and not looked at yet is looked at after a restart."""
    first = _live(tmp_path / "journal")
    answer = Router(first).handle(_job("last", 1))
    assert isinstance(answer, Response)
    assert answer.status == 201
    first.advance(first.now + 0.01)
    assert first.kueue is not None
    assert first.kueue.kept()["_planned"]
    Checkpoint.of(first, {"w": 1}).write(tmp_path / "kept")
    second = build_world(WORLD)
    Checkpoint.read(tmp_path / "kept", {"w": 1}).restore(second, tmp_path / "kept")
    for engine in (first, second):
        engine.advance(engine.now + 240.0)
        assert len(_finished(engine)) == 7
    assert first.state_hash() == second.state_hash()


def test_a_journal_belongs_to_its_kueue(tmp_path: Path) -> None:
    """A journal of a world with queues cannot be re-run in one without, nor with other settings."""
    Journal(tmp_path / "journal", world_of(WORLD)).close()
    other = tmp_path / "kueue.yaml"
    other.write_text("manageJobsWithoutQueueName: true\n")
    for settings in (PLAIN, PLAIN.model_copy(update={"kueue": str(other)})):
        with pytest.raises(ConfigError, match="Kueue"):
            Journal(tmp_path / "journal", world_of(settings))


def test_other_worlds_know_nothing_of_it() -> None:
    """Without the setting, neither the settings in the state hash nor the objects mention Kueue."""
    engine = build_world(PLAIN)
    engine.advance(engine.now + 60.0)
    lines = b"".join(state_lines(engine.seed, engine.config, engine.parts))
    assert b"kueue" not in lines.lower()
    settings = json.loads(next(iter(state_lines(0, TwinConfig(), {}))))
    assert "kueue" not in settings[2]


def test_nothing_happens_without_an_object() -> None:
    """With Kueue and no object of it, Jobs run as they would, and its controllers have nothing to do."""
    engine = build_engine({}, KueueConfig(served=True))
    handled = engine.clock.handled
    engine.advance(engine.now + 600.0)
    plain = Engine(TwinConfig(), seed=11)
    plain.advance(plain.now + 601.0)
    assert engine.clock.handled - handled <= plain.clock.handled + 60
    assert engine.kueue is not None
    assert not engine.kueue.kept()["_planned"]


@pytest.mark.parametrize("case", CASES[::12], ids=lambda case: case["case"])
def test_the_same_bytes_from_the_same_seed(case: dict[str, Any]) -> None:
    """A case that is played twice ends in the same state."""
    hashes = set()
    for _ in range(2):
        config = configuration_of(case.get("configuration", {}))
        engine = build_engine(case.get("nodes", {}), config)
        Play(case, InProcessPort(engine))
        hashes.add(engine.state_hash())
    assert len(hashes) == 1


def test_cohorts_in_a_circle_admit_nothing() -> None:
    """Queues below cohorts that are each other's parents are inactive until the circle is broken."""
    engine = build_engine({}, KueueConfig(served=True))
    circle: list[dict[str, Any]] = [
        {"flavor": {"name": "f"}},
        {"cohort": {"name": "one", "parentName": "two"}},
        {"cohort": {"name": "two", "parentName": "one"}},
        {"queue": {"name": "cq", "cohortName": "one", "quotas": {"f": {"cpu": 4}}}},
        {"job": {"name": "a", "queue": "cq", "pods": 1, "cpu": 1}},
        {"expect": {"waiting": ["a"], "clusterqueue cq": {"Active": "False Unknown"}}},
        {"patch": {"cohort two": {"spec": {"parentName": "none"}}}},
        {"expect": {"admitted": ["a"], "clusterqueue cq": {"Active": "True Ready"}}},
    ]
    Play({"case": "a circle", "steps": circle}, InProcessPort(engine))


def test_a_configuration_is_read(tmp_path: Path) -> None:
    """Kueue's own file says how it is set up; what belongs to its program is passed over."""
    file = tmp_path / "kueue.yaml"
    file.write_text(
        "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"
        "metrics: {bindAddress: ':8443'}\n"
        "waitForPodsReady: {timeout: 1h30m, recoveryTimeout: 0s, requeuingStrategy: {backoffLimitCount: 5}}\n"
    )
    config = kueue_of(str(file))
    assert config.pods_ready == PodsReadyConfig(5_400.0, None, backoff_limit=5)
    assert kueue_of("on") == KueueConfig(served=True)
    assert kueue_of("off") == KueueConfig()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("waitForPodsReady: {timeout: soon}", "waitForPodsReady.timeout.*soon.*duration"),
        ("fairSharing: {}", "fairSharing.*leave it out.*waitForPodsReady"),
        ("featureGates: {TopologyAwareScheduling: true}", "featureGates.*leave them out"),
        ("resources: {transformations: [{input: cpu, outputs: {x: much}}]}", "outputs.x.*much"),
        ("waitForPodsReady: {requeuingStrategy: {backoffLimitCount: -1}}", "backoffLimitCount.*-1"),
        ("- a list", "list.*Configuration"),
        ("{", "YAML"),
    ],
)
def test_a_wrong_configuration_is_refused(tmp_path: Path, text: str, said: str) -> None:
    """What is wrong, or would make Kueue decide otherwise than the twin, is named with its remedy."""
    file = tmp_path / "kueue.yaml"
    file.write_text(text)
    with pytest.raises(InputError, match=said) as found:
        read_configuration(file)
    assert "\n" not in str(found.value)


def test_a_job_keeps_its_quota_until_its_pods_are_gone() -> None:
    """Of a preempted Job the quota goes to the next one only when the Job has stopped."""
    engine = build_engine({}, KueueConfig(served=True))
    steps: list[dict[str, Any]] = [
        {"flavor": {"name": "f"}},
        {"class": {"name": "high", "value": 9}},
        {
            "queue": {
                "name": "cq",
                "quotas": {"f": {"cpu": 4}},
                "preemption": {"withinClusterQueue": "LowerPriority"},
            }
        },
        {"job": {"name": "low", "queue": "cq", "pods": 4, "cpu": 1}},
        {"wait": 20},
    ]
    play = Play({"case": "before", "steps": steps}, InProcessPort(engine))
    play.do_job({"name": "urgent", "queue": "cq", "pods": 4, "cpu": 1, "class": "high"})
    seen = set()
    for _ in range(400):
        engine.advance(engine.now + 0.05)
        low, job = play.find("workload low"), play.find("job low")
        urgent = play.find("workload urgent")
        assert low is not None
        assert job is not None
        active = (job.get("status") or {}).get("active", 0)
        holding = "admission" in low["status"]
        admitted = bool(urgent and "admission" in urgent.get("status", {}))
        seen.add((bool(active), holding, admitted))
        assert not (active and not holding)
        assert not (holding and admitted)
    assert (False, False, True) in seen


def test_an_evicted_job_forgets_its_flavor() -> None:
    """A Job that has to wait again gets the node selector of its next flavor alone."""
    nodes = {"n0": {"labels": {"kind": "one"}}, "n1": {"labels": {"kind": "two"}}}
    engine = build_engine(nodes, KueueConfig(served=True))
    queue = {
        "name": "cq",
        "quotas": {"one": {"cpu": 4}, "two": {"cpu": 4}},
        "preemption": {"withinClusterQueue": "LowerPriority"},
        "flavorFungibility": {"whenCanPreempt": "MayStopSearch"},
    }
    steps: list[dict[str, Any]] = [
        {"flavor": {"name": "one", "nodeLabels": {"kind": "one"}}},
        {"flavor": {"name": "two", "nodeLabels": {"kind": "two"}}},
        {"class": {"name": "high", "value": 9}},
        {"queue": queue},
        {"job": {"name": "low", "queue": "cq", "pods": 4, "cpu": 1}},
        {"wait": 20},
        {"job": {"name": "urgent", "queue": "cq", "pods": 4, "cpu": 1, "class": "high"}},
        {"wait": 60},
        {"expect": {"flavors": {"low": {"cpu": "two"}, "urgent": {"cpu": "one"}}}},
        {"expect": {"job low": {"spec.template.spec.nodeSelector": {"kind": "two"}}}},
        {"expect": {"pods low": {"nodes": ["n1"] * 4}}},
    ]
    Play({"case": "two flavors", "steps": steps}, InProcessPort(engine))


def test_a_candidate_that_is_not_needed_is_never_evicted() -> None:
    """Who was considered first, and turned out not to be needed, runs on all the while."""
    (case,) = (c for c in CASES if c["case"] == "a candidate that is not needed after all is kept")
    play = Play(case, InProcessPort(build_engine({}, KueueConfig(served=True))))
    small = play.find("workload small")
    assert small is not None
    assert "Evicted" not in {row["type"] for row in small["status"]["conditions"]}


def test_a_threshold_spares_who_is_above_it() -> None:
    """A borrower preempts nobody whose priority is above the threshold, though it is lower than its own."""
    preemption = {
        "reclaimWithinCohort": "LowerPriority",
        "borrowWithinCohort": {"policy": "LowerPriority", "maxPriorityThreshold": 100},
    }
    own = {"name": "a-cq", "cohortName": "team", "quotas": {"f": {"cpu": 2}}}
    steps: list[dict[str, Any]] = [
        {"flavor": {"name": "f"}},
        {"class": {"name": "middle", "value": 150}},
        {"class": {"name": "high", "value": 200}},
        {"queue": {**own, "preemption": preemption}},
        {"queue": {"name": "b-cq", "cohortName": "team", "quotas": {"f": {"cpu": 0}}}},
        {"queue": {"name": "shared", "cohortName": "team", "quotas": {"f": {"cpu": 6}}}},
        {"job": {"name": "b", "queue": "b-cq", "pods": 8, "cpu": 1, "class": "middle"}},
        {"job": {"name": "a", "queue": "a-cq", "pods": 4, "cpu": 1, "class": "high"}},
        {"wait": 20},
        {"expect": {"admitted": ["b"], "waiting": ["a"]}},
    ]
    Play(
        {"case": "a threshold", "steps": steps},
        InProcessPort(build_engine({}, KueueConfig(served=True))),
    )
