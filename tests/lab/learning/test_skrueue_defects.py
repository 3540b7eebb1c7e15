"""What SKRueue's code got wrong about its environment, one test each; its offline simulator's mistakes are in
test_placement_environment.py.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from foresail.__main__ import main
from foresail.learn.comparing import _streams
from lab.learning.backend import Backend
from lab.learning.baselines.play import play, result_of
from lab.learning.baselines.rules import rule_of
from lab.learning.environments.admission import KueueAdmissionEnv
from lab.learning.jobs import Job, JobStream, ordered_stream
from lab.learning.observation import CLUSTER_NUMBERS, JOB_NUMBERS, KIND_CODES, SLOTS
from lab.learning.simulator import Cluster
from lab.learning.training.environments import own_arguments
from lab.learning.twin_backend import TwinCluster
from lab.learning.workloads.sources import TEMPLATE_QUOTA, SourceOptions, stream_source
from lab.learning.workloads.templates import TEMPLATES
from lab.queue.side_by_side import ArmTask
from twin.port.objects import CLUSTER_QUEUES, QUEUE_LABEL, WORKLOADS

BACKENDS: tuple[Callable[[JobStream], Backend], ...] = (Cluster, TwinCluster)


def _job(name: str, at: float, template: str = "quick-task", priority: int | None = None) -> Job:
    one = TEMPLATES[template]
    own = one.priority if priority is None else priority
    return Job(name, at, one.requests, 60 * one.estimate_minutes, 30.0, own, one.kind)


def _stream(*jobs: Job) -> JobStream:
    return ordered_stream("defects", jobs, TEMPLATE_QUOTA)


def _env(*jobs: Job, variant: str = "skrueue") -> KueueAdmissionEnv:
    env = KueueAdmissionEnv(variant, lambda _: _stream(*jobs))  # type: ignore[arg-type]
    env.reset(seed=0)
    return env


@pytest.mark.parametrize("backend", BACKENDS)
def test_1_a_policy_that_admits_completes_jobs(backend: Callable[[JobStream], Backend]) -> None:
    """Mixed kinds of time killed SKRueue's agent at its first pending Job: 0 of 179 were completed."""
    stream = stream_source("uniform", SourceOptions(length_seconds=400))(1)
    result = play(backend(stream), rule_of("sjf+fit"))
    assert result.states["completed"] + result.states["failed"] == len(stream.jobs) == 19


def _settings(folder: Path, name: str = "report") -> str:
    """Write SKRueue's settings with a template of our own, every 30 s."""
    path = folder / "skrueue.yaml"
    path.write_text(f"""
workload:
  submission_interval: 30
  hourly_patterns: {{day: {{hours: [0, 24], rate: 5, templates: {{{name}: 1}}}}}}
job_templates:
  report: {{kind: spark, cpu: 1500m, memory: 6Gi, estimated_minutes: 40, priority: 6}}
""")
    return str(path)


@pytest.mark.parametrize("way", ["an environment", "learn benchmark", "queue benchmark"])
def test_2_settings_change_what_is_played(tmp_path: Path, way: str) -> None:
    """The YAML was never loaded: every caller asked for the settings without the file."""
    file = _settings(tmp_path)
    if way == "an environment":
        made = own_arguments({"workload": "realistic", "settings": file})
        stream = made["workload"](1)
    elif way == "learn benchmark":
        asked = Namespace(source=[f"settings={file}"], streams=1)
        (stream,) = _streams("realistic", "test", asked)
    else:
        stream = ArmTask("easy", "realistic", 1, 3_600.0, "default", file).play().stream
    assert {job.priority for job in stream.jobs} == {6}


@pytest.mark.parametrize(
    "words",
    [
        ["queue", "collect", "{folder}/jobs.fslog", "--kubeconfig", "none"],
        ["queue", "benchmark", "--workload", "realistic", "--dir", "{folder}/bench"],
        ["learn", "benchmark", "--workload", "realistic"],
    ],
)
def test_2_settings_that_are_wrong_are_refused(
    tmp_path: Path, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """By every verb that takes them, before anything is played or asked."""
    file = _settings(tmp_path, "reprot")
    flags = ["--source", f"settings={file}"] if words[0] == "learn" else ["--settings", file]
    assert main([*(word.format(folder=tmp_path) for word in words), *flags]) == 2
    assert "reprot is no template" in capsys.readouterr().err


def test_3_requests_are_seen() -> None:
    """They were read as attributes of a dict, and so always 0."""
    seen = _env(_job("one", 0, "ml-training"))._observation()
    at = CLUSTER_NUMBERS
    assert seen[at : at + 2] == pytest.approx([2_000 / 32_000, 8 / 128])


def test_4_utilization_follows_what_is_admitted() -> None:
    """It was a constant, so that seven numbers and a part of the reward said nothing."""
    env = _env(_job("one", 0, "ml-training"), _job("two", 0, "ml-training"))
    before = env._observation()
    after = env.step(0)[0]
    assert before[[0, 1, 2, 3, 5]] == pytest.approx([1, 1, 0, 0, 0])
    assert after[[0, 1, 2, 3, 5]] == pytest.approx([15 / 16, 15 / 16, 1 / 16, 1 / 16, 1 / 16])


def test_5_admission_is_kueues() -> None:
    """Jobs name a queue, and it is Kueue that reserves quota for their Workloads; SKRueue unsuspended bare Jobs, and
    compared with plain Kubernetes under the name of Kueue.
    """
    cluster = TwinCluster(_stream(_job("one", 0), _job("two", 0)))
    cluster.admit(1)
    cluster.advance(5.0)
    store = cluster.engine.store
    jobs = list(store.list("jobs"))
    assert all(job["metadata"]["labels"][QUEUE_LABEL] for job in jobs)
    assert [job["spec"]["suspend"] for job in jobs] == [True, False]
    reserving = [
        one["metadata"]["ownerReferences"][0]["name"]
        for one in store.list(WORKLOADS)
        if any(
            c["type"] == "QuotaReserved" and c["status"] == "True"
            for c in one["status"]["conditions"]
        )
    ]
    assert reserving == ["job-000001"]
    (queue,) = store.list(CLUSTER_QUEUES)
    assert queue["status"]["reservingWorkloads"] == 1


@pytest.mark.parametrize("backend", BACKENDS)
def test_6_a_held_job_is_pending_for_every_arm(backend: Callable[[JobStream], Backend]) -> None:
    """Suspended Jobs were not counted as pending, so that the learned arms' queue was always empty."""
    cluster = backend(_stream(*(_job(f"job-{n}", n) for n in range(12))))
    cluster.advance(10.5)
    assert cluster.pending_count == 11
    assert result_of(cluster).states["pending"] == 11


def test_7_figures_are_measured() -> None:
    """Utilization is what the jobs requested over the quota's time, where SKRueue wrote 0.5."""
    cluster = Cluster(_stream(_job("one", 0, "cpu-intensive"), _job("two", 0, "ml-training")))
    result = play(cluster, rule_of("first-fit"))
    assert result.cpu_utilization == pytest.approx((1_000 + 2_000) / 32_000)


def test_9_completed_jobs_have_ended() -> None:
    """Admissions were counted as completions."""
    env = _env(_job("one", 0), _job("two", 0), _job("late", 100))
    info = env.step(0)[4]
    assert info["metrics"]["completed_jobs"] == 0
    for _ in range(6):
        info = env.step(10)[4]
    assert info["metrics"]["completed_jobs"] == 1


def test_9_only_the_last_action_waits() -> None:
    """An empty slot is masked and its choice fails; it is no second way to wait."""
    env = _env(_job("one", 0), _job("late", 100))
    assert env.action_masks().tolist() == [True] + [False] * 9 + [True]
    assert env.step(5)[4]["action_result"]["success"] is False
    assert env.step(10)[4]["action_result"] == {
        "success": True,
        "action_type": "wait",
        "job_name": None,
    }


@pytest.mark.parametrize("backend", BACKENDS)
def test_12_slots_are_in_kueues_order(backend: Callable[[JobStream], Backend]) -> None:
    """Priority, then age; SKRueue took the order in which the API lists."""
    jobs = (
        _job("a-late", 2, priority=1),
        _job("z-urgent", 3, priority=9),
        _job("b-early", 1, priority=1),
    )
    cluster = backend(_stream(*jobs))
    cluster.advance(4.0)
    assert [cluster.job(i).name for i in cluster.slots(SLOTS)] == ["z-urgent", "b-early", "a-late"]


def test_12_who_stands_behind_the_tenth_is_seen_by_score() -> None:
    """A job there changes no number of `skrueue`, and some of `score`."""
    eleven = [_job(f"job-{n}", 0) for n in range(11)]
    large = [*eleven, _job("large", 0, "ml-training", priority=0)]
    for variant, changes in (("skrueue", False), ("score", True)):
        seen = [_env(*jobs, variant=variant)._observation() for jobs in (eleven, large)]
        assert bool(np.any(seen[0] != seen[1])) is changes


def test_12_type_codes_are_the_templates() -> None:
    """Every template but the quick task fell to generic."""
    for name, code in (("cpu-intensive", 0.4), ("ml-training", 0.6), ("etl-pipeline", 0.5)):
        seen = _env(_job("one", 0, name))._observation()
        assert seen[CLUSTER_NUMBERS + JOB_NUMBERS - 1] == pytest.approx(code)
        assert KIND_CODES[TEMPLATES[name].kind] == code


def test_13_an_interval_below_a_minute_is_one() -> None:
    """It made a step of 0 and an error; the published 20 s come as 20 s."""
    arrivals = [job.arrival_seconds for job in stream_source("uniform")(1).jobs]
    assert arrivals[:3] == [20.0, 40.0, 60.0]
