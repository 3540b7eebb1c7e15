"""The contestants of a comparison, and what one of them makes of a stream of jobs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from lab.learning.backend import Backend
from lab.learning.baselines.play import play
from lab.learning.baselines.rules import Rule, rule_of
from lab.learning.jobs import JobStream, State
from lab.learning.measures import bounded_slowdown
from lab.learning.simulator import Cluster

Floats = npt.NDArray[np.float64]
BLIND_RULES = (
    "strict-fifo", "best-effort-fifo", "first-fit", "best-fit", "sjf+fit", "wfp3+fit", "unicef+fit", "f1+fit",
    "f2+fit", "f3+fit", "f4+fit", "easy", "sjf+easy", "conservative",
)  # fmt: skip
"""Rules that know of jobs what a real scheduler knows: what users say."""
KNOWING_RULES = ("sjf-truth+fit",)
"""Rules that know how long a job really takes; no policy is compared with them."""
DRAWN_RULES = ("random", "untrained")
"""Rules with seeds."""
MEASURES = (
    "slowdown", "wait_minutes", "longest_wait_hours", "completed", "unfinished", "utilization_percent"
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Arm:
    """One contestant: a rule, or the seeds of one training."""

    name: str
    seeds: tuple[Callable[[], Rule], ...]
    """Each makes the rule of one seed anew for every stream."""
    identities: tuple[str, ...] = ()
    """What tells each seed's decisions from any other's: its name, or a digest of its weights."""
    learned: bool = False
    knows_truth: bool = False
    steps: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    """Of training, all seeds together."""
    plan: Mapping[str, Any] | None = None
    """Of the training, but for the seed; None: it is not known, or nothing was trained."""

    def __post_init__(self) -> None:
        """Tell seeds by their places where nothing else is given."""
        if not self.identities:
            names = tuple(f"{self.name}/{place}" for place in range(len(self.seeds)))
            object.__setattr__(self, "identities", names)


@dataclass(frozen=True, slots=True)
class Played:
    """What an arm made of streams."""

    arm: Arm
    values: Mapping[str, Floats]
    """By measure, seeds x streams."""


def rule_arms(seeds: int) -> list[Arm]:
    """Return the rules' arms; those that draw have so many seeds."""
    blind = [_of_rule(name, 1) for name in BLIND_RULES]
    knowing = [_of_rule(name, 1, knows_truth=True) for name in KNOWING_RULES]
    return [*blind, *knowing, *(_of_rule(name, seeds) for name in DRAWN_RULES)]


def _of_rule(name: str, seeds: int, *, knows_truth: bool = False) -> Arm:
    made = tuple((lambda seed=seed: rule_of(name, seed)) for seed in range(seeds))
    return Arm(name, made, knows_truth=knows_truth)


def play_stream(rule: Rule, stream: JobStream, until_seconds: float) -> dict[str, float]:
    """Return what a rule makes of a stream, by measure, until then or until no job is left."""
    cluster = Cluster(stream)
    result = play(cluster, rule, until_seconds=until_seconds)
    return {
        "slowdown": mean_slowdown(cluster),
        "wait_minutes": _mean_wait(cluster) / 60.0,
        "longest_wait_hours": max(map(cluster.wait_seconds, _come(cluster))) / 3_600.0,
        "completed": float(result.states["completed"]),
        "unfinished": float(result.states["pending"] + result.states["running"]),
        "utilization_percent": 100.0 * result.cpu_utilization,
    }


def mean_slowdown(cluster: Backend) -> float:
    """Return the mean bounded slowdown of all jobs that came; one that waits still counts as if it began now.

    A policy that leaves jobs waiting for ever would look good if they were left out.
    """
    come = _come(cluster)
    return float(
        np.mean(
            [
                bounded_slowdown(cluster.wait_seconds(i), cluster.job(i).running_seconds)
                for i in come
            ]
        )
    )


def _mean_wait(cluster: Backend) -> float:
    return float(np.mean([cluster.wait_seconds(index) for index in _come(cluster)]))


def _come(cluster: Backend) -> list[int]:
    come = [i for i, record in enumerate(cluster.records) if record.state is not State.NOT_YET]
    if not come:
        raise ValueError("no job has come")
    return come
