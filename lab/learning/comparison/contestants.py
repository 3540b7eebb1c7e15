"""Policies by the word that names them: all seeds of a run, an exported file, or a simple rule."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bus.errors import InputError
from lab.learning.comparison.benchmark import Arm
from lab.learning.comparison.learned_rule import LearnedRule, View
from lab.learning.evaluation.episodes import Mask, Observation, Policy
from lab.learning.training import learners
from lab.learning.training.environments import ADMISSION, STATISTICS, read_statistics
from lab.learning.training.run import BEST, read_outcome, read_plan
from services.learned_policy.choice import LearnedPolicy
from services.learned_policy.file import SUFFIX, read_policy


@dataclass(frozen=True, slots=True)
class Contestant:
    """One policy that is played; several of one name are seeds of one training."""

    name: str
    seed: int
    policy: Policy
    environment: str | None
    """What it was trained in; None: a rule."""
    arguments: Mapping[str, Any]
    masked: bool
    cost_steps: int = 0
    cost_seconds: float = 0.0
    cost_cpu_seconds: float = 0.0
    identity: str = ""
    """Digest of its weights and of what it sees."""
    plan: Mapping[str, Any] | None = None
    """Of its training, the seed apart."""


class ExportedPolicy:
    """An exported file's best action, by numpy alone."""

    def __init__(self, policy: LearnedPolicy) -> None:
        """Take what a file held."""
        self._policy = policy

    def choose(self, observation: Observation, mask: Mask | None) -> Any:
        """Return the best action, or the priority of each slot."""
        choice = self._policy.choose(observation, mask)
        if self._policy.card.kind == "choice":
            return choice.action
        return np.array(choice.scores, dtype=np.float32)


def trained(folder: Path) -> Iterator[Contestant]:
    """Yield each seed of a run, by its framework.

    Raises:
        InputError: none has ended there, or one cannot be read.
    """
    seeds = sorted(folder.glob("seed-*"), key=lambda path: int(path.name.partition("-")[2]))
    ended = [path for path in seeds if read_outcome(path) is not None]
    if not ended:
        raise InputError("run", folder, "no seed's training has ended there; `learn train` first")
    for path in ended:
        plan, outcome = read_plan(path), read_outcome(path)
        assert outcome is not None
        algorithm: str = plan["recipe"]["algorithm"]
        normalise = None
        if plan["normalise"]:
            normalise = read_statistics(path / BEST).normalize_obs
        learner = learners.load(algorithm, path / BEST)
        yield Contestant(
            folder.name, plan["seed"], learners.LearnerPolicy(algorithm, learner, normalise),
            plan["environment"], plan["arguments"], plan["masked"],
            outcome.steps, outcome.seconds, outcome.cpu_seconds,
            _identity(plan["arguments"], plan["masked"], _bytes_of(path / BEST)),
            {name: value for name, value in plan.items() if name != "seed"},
        )  # fmt: skip


def exported(path: Path) -> Contestant:
    """Return the policy of a file; raises InputError where it is none."""
    policy = read_policy(path)
    card = policy.card
    return Contestant(
        card.name,
        card.seed,
        ExportedPolicy(policy),
        card.environment,
        card.arguments,
        card.masked,
        card.steps,
        identity=_identity(card.arguments, card.masked, card.weights_sha256.encode()),
    )


def _identity(arguments: Mapping[str, Any], masked: bool, weights: bytes) -> str:
    sees = json.dumps([dict(arguments), masked], sort_keys=True).encode()
    return hashlib.sha256(sees + weights).hexdigest()


def _bytes_of(weights: Path) -> bytes:
    """Return a learner's file, and what its observations are normalised by."""
    statistics = weights.with_suffix(STATISTICS)
    return weights.read_bytes() + (statistics.read_bytes() if statistics.is_file() else b"")


def is_exported(word: str) -> bool:
    """Say whether a word names a policy's file."""
    return word.endswith(SUFFIX)


def learned_arm(name: str, contestants: Sequence[Contestant]) -> Arm:
    """Return the arm of a training's seeds.

    Raises:
        InputError: one was trained in another environment than Kueue's admission.
    """
    made = []
    for one in contestants:
        if one.environment != ADMISSION:
            raise InputError(
                "policy", name, f"it was trained in {one.environment}, not in {ADMISSION}"
            )
        view = View.of(one.arguments)
        rule = LearnedRule(
            one.policy, view, masked=one.masked, priorities=view.variant == "continuous"
        )
        made.append(lambda rule=rule: rule)
    return Arm(
        name,
        tuple(made),
        tuple(one.identity for one in contestants),
        learned=True,
        plan=contestants[0].plan,
        steps=sum(one.cost_steps for one in contestants),
        seconds=sum(one.cost_seconds for one in contestants),
        cpu_seconds=sum(one.cost_cpu_seconds for one in contestants),
    )
