"""Streams: SKRueue's templates and strategies as published, Lublin's model, archives, traces split by time."""

from __future__ import annotations

from collections import Counter
from itertools import chain, pairwise
from pathlib import Path
from statistics import mean, median

import pytest

from inputs.errors import InputError
from lab.learning.baselines.play import play
from lab.learning.baselines.rules import rule_of
from lab.learning.jobs import BYTES_PER_GIB, Amounts, Job, Outcome
from lab.learning.observation import KIND_CODES
from lab.learning.simulator import Cluster
from lab.learning.training.environments import own_arguments
from lab.learning.workloads.lublin import lublin_jobs
from lab.learning.workloads.settings_file import read_workload_settings
from lab.learning.workloads.sources import SourceOptions, stream_source
from lab.learning.workloads.splits import SPLITS
from lab.learning.workloads.strategies import PATTERNS, strategy_jobs
from lab.learning.workloads.swf import read_swf
from lab.learning.workloads.templates import TEMPLATES
from lab.learning.workloads.windows import quota_for, split_by_time, thinned_window
from tests.forecast.pack import pack_file

DAY = 86_400.0


def test_templates_are_the_published_ones() -> None:
    """Requests, limits, estimates and priorities of SKRueue's table, Spark's executors too."""
    memory = TEMPLATES["memory-intensive"]
    assert memory.requests == Amounts(500, 4 * BYTES_PER_GIB)
    assert memory.limits == Amounts(1_000, 8 * BYTES_PER_GIB)
    assert [(t.estimate_minutes, t.priority) for t in TEMPLATES.values()] == [
        (30, 5), (45, 4), (25, 3), (60, 8), (40, 6), (5, 2)]  # fmt: skip
    spark = {
        name: t.spark and (t.spark.executors, t.spark.cores, t.spark.memory_gib)
        for name, t in TEMPLATES.items()
    }
    assert spark["ml-training"] == (3, 4, 4)
    assert spark["etl-pipeline"] == (4, 2, 3)


def test_every_template_has_a_type_code() -> None:
    """SKRueue's categories fell to generic, because its observation knew none of them."""
    assert {t.kind for t in TEMPLATES.values()} <= KIND_CODES.keys()
    assert TEMPLATES["cpu-intensive"].kind == "batch"


def test_every_hourly_pattern_names_templates_that_exist() -> None:
    """SKRueue's named two that did not; patterns cover the day once."""
    for pattern in PATTERNS:
        assert set(pattern.weights) <= TEMPLATES.keys()
        assert sum(pattern.weights.values()) == pytest.approx(1)
    assert [hour for p in PATTERNS for hour in range(p.from_hour, p.to_hour)] == list(range(24))


def test_uniform_is_the_seeds_hour() -> None:
    """A job each 20 s for an hour is 179 jobs, as in the published run."""
    jobs = strategy_jobs("uniform", 1, 3_600)
    assert len(jobs) == 179
    assert {b.arrival_seconds - a.arrival_seconds for a, b in pairwise(jobs)} == {20.0}


def test_realistic_follows_the_hours() -> None:
    """Over many days, five jobs an hour in business hours and two at night."""
    counts: Counter[str] = Counter()
    for day in range(60):
        for job in strategy_jobs("realistic", day, DAY):
            counts["night" if job.arrival_seconds < 6 * 3_600 else "day"] += (
                job.arrival_seconds < 6 * 3_600 or 9 <= job.arrival_seconds / 3_600 < 18
            )
    assert counts["night"] / 60 / 6 == pytest.approx(2, abs=0.2)
    assert counts["day"] / 60 / 9 == pytest.approx(5, abs=0.2)


def test_bursts_come_every_four_hours() -> None:
    """Twenty jobs 5 s apart, six times a day."""
    jobs = strategy_jobs("burst", 1, DAY)
    assert len(jobs) == 120
    assert jobs[19].arrival_seconds == 95
    assert jobs[20].arrival_seconds == 14_400


@pytest.mark.parametrize("name", ["uniform", "realistic", "burst", "lublin-256"])
def test_splits_share_no_stream_and_seeds_repeat(name: str) -> None:
    """The same seed gives the same jobs, another split other ones."""
    made = [stream_source(name, SourceOptions(split=split))(4).jobs for split in SPLITS]
    assert made[0] == stream_source(name)(4).jobs
    assert len(set(made)) == 3


def test_lublin_is_the_published_workload() -> None:
    """Sizes and times of 10,000 jobs are those of the program's own output for 256 processors, as RLScheduler published
    it: mean width 22.1, median time 137 s, mean time 4,863 s, a quarter serial, load 1.06.
    """
    jobs = lublin_jobs(0, 10_000)
    assert mean(job.pods for job in jobs) == pytest.approx(22.1, rel=0.05)
    assert median(job.true_seconds for job in jobs) == pytest.approx(137, rel=0.1)
    assert mean(job.true_seconds for job in jobs) == pytest.approx(4_863, rel=0.05)
    assert mean(job.pods == 1 for job in jobs) == pytest.approx(0.249, abs=0.015)
    load = sum(job.pods * job.true_seconds for job in jobs) / 256 / jobs[-1].arrival_seconds
    assert 0.8 < load < 1.15
    assert all(job.estimate_seconds == job.true_seconds for job in jobs)


def test_users_overestimate_when_asked_to() -> None:
    """Between the truth and five times the truth, three times on average."""
    jobs = lublin_jobs(0, 2_000, most_overestimate=4.0)
    ratios = [job.estimate_seconds / job.true_seconds for job in jobs]
    assert 1 <= min(ratios) <= max(ratios) <= 5
    assert mean(ratios) == pytest.approx(3, rel=0.05)


SWF = """; MaxProcs: 8
1 10 -1 100 2 -1 -1 4 300 -1 1 -1 -1 -1 1 -1 -1 -1
2 20 -1 0 2 -1 -1 2 300 -1 1 -1 -1 -1 1 -1 -1 -1
3 5 -1 50 1 -1 -1 -1 -1 -1 5 -1 -1 -1 1 -1 -1 -1
"""


def test_the_standard_workload_format_is_read(tmp_path: Path) -> None:
    """Requested processors and time where there are any; who never ran is left out, who was cancelled fails."""
    path = tmp_path / "small.swf"
    path.write_text(SWF)
    stream = read_swf(path)
    assert [job.name for job in stream.jobs] == ["swf-3", "swf-1"]
    cancelled, first = stream.jobs
    assert (first.pods, first.estimate_seconds, first.true_seconds) == (4, 300, 100)
    assert (cancelled.estimate_seconds, cancelled.outcome) == (50, Outcome.FAILED)
    assert stream.quota.cpu_millicores == 8_000


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("; MaxProcs: 8\n1 2 three\n", "line 2 = 1 2 three: give 18 numbers"),
        (SWF.replace("; MaxProcs: 8", ";"), "neither MaxProcs nor MaxNodes"),
        ("; MaxProcs: 8\n", "no line has a run time"),
    ],
)
def test_what_is_no_such_file_is_refused(tmp_path: Path, text: str, says: str) -> None:
    """In one line that names the place."""
    path = tmp_path / "bad.swf"
    path.write_text(text)
    with pytest.raises(InputError, match=says):
        read_swf(path)


SETTINGS = """
workload:
  submission_interval: 30
  hourly_patterns:
    night: {hours: [0, 9], rate: 2, templates: {report: 1}}
    day: {hours: [9, 24], rate: 5, templates: {report: 0.2, ml-training: 0.8}}
job_templates:
  report: {kind: spark, cpu: 1500m, memory: 6Gi, estimated_minutes: 40, priority: 6, spread: 0,
           spark: {executors: 4, cores: 2, memory_gib: 3}}
"""


def test_the_settings_file_is_read(tmp_path: Path) -> None:
    """Own templates come, at the file's interval; SKRueue never loaded its YAML."""
    path = tmp_path / "skrueue.yaml"
    path.write_text(SETTINGS)
    settings = read_workload_settings(path)
    assert settings.templates["report"].limits == Amounts(3_000, 12 * BYTES_PER_GIB)
    assert settings.templates.keys() > TEMPLATES.keys()
    options = SourceOptions(settings=settings)
    assert len(stream_source("uniform", options)(1).jobs) == 119
    kinds = {
        job.kind
        for job in stream_source("realistic", SourceOptions(settings=settings, length_seconds=DAY))(
            1
        ).jobs
    }
    assert kinds == {"spark", "ml"}


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ("report: 1}", "reprot: 1}", "reprot is no template"),
        ("[9, 24]", "[10, 24]", "begin at hour 9"),
        ("cpu: 1500m", "cpu: 0", "give more than 0"),
        ("submission_interval: 30", "submission_interval: 0", "workload.submission_interval = 0"),
        ("workload:", "wokload:", "wokload"),
    ],
)
def test_wrong_settings_are_refused(tmp_path: Path, before: str, after: str, says: str) -> None:
    """In one line that names the field."""
    path = tmp_path / "skrueue.yaml"
    path.write_text(SETTINGS.replace(before, after, 1))
    with pytest.raises(InputError, match=says):
        read_workload_settings(path)


def test_a_record_is_split_by_time() -> None:
    """Nothing of the test split comes before anything of training."""
    jobs = [Job(f"j{n}", float(n), Amounts(1_000, 1), 10, 10) for n in range(100)]
    parts = [split_by_time(jobs, split) for split in SPLITS]
    assert [len(part) for part in parts] == [60, 20, 20]
    assert list(chain.from_iterable(parts)) == jobs
    assert quota_for(jobs, 100, 0.5).cpu_millicores == int(1_000 * 1_000 / 99 / 0.5)


def test_windows_of_a_thinned_record_share_no_job() -> None:
    """As long as there are windows: twenty that overlap would be called twenty, and be three."""
    jobs = [
        Job(f"job-{at}", float(at), Amounts(1_000, BYTES_PER_GIB), 60.0, 60.0) for at in range(400)
    ]
    thinned = [jobs[at::4] for at in range(4)]
    streams = [
        thinned_window("record", thinned, Amounts(8_000, BYTES_PER_GIB), seed, 30, apart=True)
        for seed in range(14)
    ]
    names = [job.name for stream in streams for job in stream.jobs]
    assert len(set(names[: 12 * 30])) == 12 * 30
    assert all(len(stream.jobs) == 30 for stream in streams)
    drawn = [
        thinned_window("record", thinned, Amounts(8_000, BYTES_PER_GIB), seed, 30, apart=False)
        for seed in range(40)
    ]
    assert len({stream.name for stream in drawn}) > 30


def test_an_unknown_workload_is_refused() -> None:
    """With the names that would do; a trace needs its folder."""
    with pytest.raises(InputError, match="workload = unifrom: use one of uniform, "):
        stream_source("unifrom")
    with pytest.raises(InputError, match="FORESAIL_DATA"):
        stream_source("philly")


def test_training_finds_traces_where_every_verb_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With FORESAIL_DATA set it looks there, and names what is missing."""
    monkeypatch.setenv("FORESAIL_DATA", str(tmp_path))
    with pytest.raises(InputError, match="holds replay/philly_gpu_jobs"):
        own_arguments({"workload": "philly"})


@pytest.mark.parametrize(
    ("name", "file"),
    [("philly", "replay/philly_gpu_jobs.parquet"), ("surf", "replay/surf22_tasks.parquet")],
)
def test_a_trace_is_worth_scheduling(name: str, file: str) -> None:
    """Its test streams hold jobs that no training stream holds, and waiting depends on who is admitted."""
    data = pack_file(file).parents[1]
    made = {
        split: stream_source(name, SourceOptions(split=split, data_dir=data))(seed)
        for seed, split in enumerate(SPLITS)
    }
    names = {split: {job.name for job in stream.jobs} for split, stream in made.items()}
    assert not names["train"] & names["test"]
    assert not names["development"] & names["test"]
    found = [
        play(Cluster(made["test"]), rule_of(rule)).mean_wait_seconds
        for rule in ("sjf-truth+fit", "strict-fifo")
    ]
    assert 0 < found[0] < 0.95 * found[1]
