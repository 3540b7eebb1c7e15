"""The twin with its Kueue behind the port: the same stream fares there as in the simulator."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from lab.learning.baselines.play import play
from lab.learning.baselines.rules import Rule, rule_of
from lab.learning.environments.admission import KueueAdmissionEnv
from lab.learning.jobs import JobStream
from lab.learning.simulator import Cluster
from lab.learning.twin_backend import TwinCluster
from lab.learning.twin_objects import Strategy
from lab.learning.workloads.sources import SourceOptions, stream_source
from tests.lab.learning.streams import random_stream

TICK_SECONDS = 5.0
RULES = ("strict-fifo", "best-effort-fifo", "sjf", "easy", "best-fit")
# Nothing happens within a quarter of a second of a tick: Kueue's controllers take a tenth, so that what is nearer may
# be seen a tick later there.
ON_TICKS = {"grid": 0.5, "offset": 0.25}


def _wait(_: object) -> None:
    """Leave it to Kueue."""


def _differences(
    stream: JobStream, rule: str, strategy: Strategy | None, every: float | None
) -> tuple[bool, float]:
    """Return whether both admit in the same order, and the largest difference of a start in seconds."""
    plain, twin = Cluster(stream), TwinCluster(stream, strategy)
    in_twin: Rule = _wait if strategy else rule_of(rule)
    ours = play(plain, rule_of(rule), every_seconds=every)
    theirs = play(twin, in_twin, every_seconds=every)
    assert ours.states == theirs.states
    starts = [
        abs(a.start_seconds - b.start_seconds)
        for a, b in zip(plain.records, twin.records, strict=True)
    ]
    return plain.admitted == twin.admitted, max(starts)


def test_forty_streams_fare_the_same() -> None:
    """Same order of admission, and starts within a tick (in fact within a tenth of a second), under five rules."""
    for seed in range(40):
        stream = random_stream(seed, 14, **ON_TICKS)
        same, worst = _differences(stream, RULES[seed % len(RULES)], None, TICK_SECONDS)
        assert same, seed
        assert worst < 0.1, seed


@pytest.mark.parametrize(
    ("strategy", "rule"), [("StrictFIFO", "strict-fifo"), ("BestEffortFIFO", "best-effort-fifo")]
)
def test_kueues_own_strategies_are_the_rules_of_their_names(strategy: Strategy, rule: str) -> None:
    """Kueue alone admits whom our rule admits, within a tick; where two events lie within its latency it may differ."""
    found = [
        _differences(random_stream(seed, 14, grid=0.001), rule, strategy, None)
        for seed in range(20)
    ]
    same = [worst for equal, worst in found if equal]
    assert len(same) >= 18
    assert max(same) < TICK_SECONDS


def test_a_policy_sees_the_same_over_both() -> None:
    """The 67 numbers differ by no more than a tenth of a second's wait makes, whatever is done."""
    worst = 0.0
    for seed in range(3):
        stream = random_stream(seed, 14, **ON_TICKS)
        envs = [
            KueueAdmissionEnv("skrueue", lambda _, stream=stream: stream, make_backend=backend)
            for backend in (Cluster, TwinCluster)
        ]
        random = Random(seed)
        seen = [env.reset(seed=0)[0] for env in envs]
        over = False
        while not over:
            worst = max(worst, float(np.abs(seen[0] - seen[1]).max()))
            assert np.array_equal(*(env.action_masks()[:10] for env in envs))
            action = random.randrange(11)
            steps = [env.step(action) for env in envs]
            assert steps[0][2:4] == steps[1][2:4]
            seen, over = [step[0] for step in steps], bool(steps[0][2] or steps[0][3])
    assert worst < 0.1 / 3_600


def test_a_job_that_does_not_fit_is_not_admitted() -> None:
    """Nor is one that does not wait; nothing changes."""
    stream = random_stream(1, 14, **ON_TICKS)
    cluster = TwinCluster(stream)
    assert not cluster.admit(13)
    cluster.advance(400.0)
    free = cluster.free
    while any(map(cluster.fits, cluster.pending)):
        assert cluster.admit(next(filter(cluster.fits, cluster.pending)))
    assert not cluster.admit(cluster.pending[0])
    assert cluster.free != free


def test_skrueues_hour_ends_the_same() -> None:
    """Of its 179 jobs, as many are completed, running and pending after 60 minutes when Kueue itself decides."""
    stream = stream_source("uniform", SourceOptions(split="test"))(0)
    ours = play(Cluster(stream), rule_of("best-effort-fifo"), until_seconds=3_600.0)
    theirs = play(TwinCluster(stream, "BestEffortFIFO"), _wait, until_seconds=3_600.0)
    assert ours.states == theirs.states
    assert sum(theirs.states.values()) == 179
    assert theirs.states["completed"] > 50
