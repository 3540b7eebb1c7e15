"""Writes the one file of a policy: best weights, normalisation, what it sees, and a card that was checked."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bus.errors import InputError
from lab.learning.comparison.learned_rule import View
from lab.learning.export.agreement import STATES, agreement, met_states
from lab.learning.export.quantise import network_of
from lab.learning.libraries import library
from lab.learning.training import learners
from lab.learning.training.environments import (
    ADMISSION,
    data_folder,
    make_environment,
    read_statistics,
)
from lab.learning.training.recipes import MASKED
from lab.learning.training.run import BEST, read_outcome, read_plan
from lab.learning.workloads.sources import SWF_PREFIX, TRACES, recorded_jobs
from services.learned_policy.card import PolicyCard
from services.learned_policy.choice import LearnedPolicy
from services.learned_policy.file import arrays_of, policy_bytes, weights_digest

LIBRARIES = ("gymnasium", "numpy", "sb3-contrib", "stable-baselines3", "torch")


def export_run(folder: Path, name: str, states: int = STATES) -> LearnedPolicy:
    """Return the policy of one seed's finished run, compared with its framework.

    Args:
        folder: of the seed's run.
        name: that the policy is to have.
        states: on how many it is compared.

    Raises:
        InputError: the run has not ended, the network cannot be written in whole numbers, or the policy would act
            otherwise than its framework where that is no near-tie.
    """
    plan, outcome = read_plan(folder), read_outcome(folder)
    if outcome is None:
        raise InputError("run", folder, "it has not ended; the same `learn train` goes on with it")
    algorithm: str = plan["recipe"]["algorithm"]
    learner = learners.load(algorithm, folder / BEST)
    statistics = read_statistics(folder / BEST) if plan["normalise"] else None
    network = network_of(algorithm, learner, statistics)

    def make() -> Any:
        return make_environment(plan["environment"], plan["arguments"])

    card = PolicyCard(
        name=name,
        algorithm=algorithm,
        preset=plan["recipe"]["preset"],
        environment=plan["environment"],
        arguments=plan["arguments"],
        observation=observation_name(plan["environment"], plan["arguments"]),
        observation_count=network.inputs,
        kind="choice" if _is_choice(make()) else "priorities",
        action_count=network.outputs,
        masked=algorithm in MASKED and plan["masked"],
        seed=plan["seed"],
        steps=outcome.best_steps,
        hyper_parameters=plan["recipe"]["hyper_parameters"],
        layers=tuple(len(layer.bias) for layer in network.layers[:-1]),
        data_sha256=data_digests(plan["arguments"]),
        weights_sha256=weights_digest(arrays_of(network)),
        development_return=outcome.best_return,
        versions={library_name: version(library_name) for library_name in LIBRARIES},
    )
    policy = LearnedPolicy(card, network)
    met, masks = met_states(policy, make, states, plan["seed"])
    compared = agreement(policy, algorithm, learner, met, masks)
    if compared.differing_elsewhere:
        remedy = (
            f"it would act otherwise than its framework in {compared.differing_elsewhere} of {compared.states} states "
            "that are no near-ties; train with smaller values or --normalise"
        )
        raise InputError("run", folder, remedy)
    return replace(policy, card=card.model_copy(update={"agreement": compared}))


def observation_name(environment: str, arguments: Mapping[str, Any]) -> str:
    """Return name and version of what a policy sees; environments of others have their id for it."""
    return View.of(arguments).name if environment == ADMISSION else environment


def data_digests(arguments: dict[str, Any]) -> dict[str, str]:
    """Return SHA-256 of what training read: files and traces that its arguments name, and the arguments themselves."""
    words = json.dumps(arguments, sort_keys=True).encode()
    digests = {"arguments": hashlib.sha256(words).hexdigest()}
    for name, value in arguments.items():
        path = Path(value.removeprefix(SWF_PREFIX)) if isinstance(value, str) else None
        if path is not None and path.is_file():
            digests[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    trace, folder = arguments.get("workload"), data_folder(arguments)
    if trace in TRACES and folder is not None:
        digests[f"{trace} jobs"] = hashlib.sha256(
            repr(recorded_jobs(trace, folder)).encode()
        ).hexdigest()
    return digests


def write_policy(policy: LearnedPolicy, path: Path) -> int:
    """Write the file whole; return its bytes."""
    packed = policy_bytes(policy)
    unfinished = path.with_name(f"{path.name}.partial")
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished.write_bytes(packed)
    unfinished.replace(path)
    return len(packed)


def _is_choice(environment: Any) -> bool:
    return isinstance(environment.action_space, library("gymnasium.spaces").Discrete)
