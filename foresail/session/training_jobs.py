"""Jobs that train: what one of them does, and the figures that it is ranked by."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from bus.errors import InputError
from lab.forecast.risk.booster_profiles import DEFAULT_PROFILE, PROFILES
from lab.sessions.training_payloads import (
    HEURISTIC_WEIGHT,
    BoosterPayload,
    PolicyPayload,
    PolicyValues,
)

if TYPE_CHECKING:
    from lab.forecast.risk.source import DatasetSource


def score_booster(payload: BoosterPayload, config: Mapping[str, Any]) -> dict[str, Any]:
    """Train a booster by a profile and return its figures; raises InputError."""
    from lab.forecast.risk.booster_scoring import score_profile  # noqa: PLC0415 - polars and xgboost

    own = dict(config)
    name = own.pop("profile", DEFAULT_PROFILE)
    if name not in PROFILES:
        raise InputError("profile", name, f"give one of {', '.join(PROFILES)}")
    source, horizons = _dataset_of(payload)
    profile = replace(PROFILES[name], **own)
    metrics = score_profile(source, horizons, profile, payload.seed)
    return {"profile": {"name": name, **asdict(profile)}, "horizons": horizons, "metrics": metrics}


def check_booster(payload: BoosterPayload) -> None:
    """Refuse, before any trial, a dataset that no booster can be scored on; raises InputError."""
    from lab.forecast.risk.booster_scoring import check_failures  # noqa: PLC0415 - polars

    check_failures(*_dataset_of(payload))


def _dataset_of(payload: BoosterPayload) -> tuple[DatasetSource, tuple[int, ...]]:
    from foresail.workspace import workspace  # noqa: PLC0415 - polars
    from lab.forecast.dataset import open_dataset  # noqa: PLC0415
    from lab.forecast.risk.source import DatasetSource  # noqa: PLC0415

    dataset = open_dataset(payload.dataset, workspace())
    return DatasetSource(dataset), payload.horizons or (dataset.choice.horizon_minutes,)


def train_policy(payload: PolicyPayload, config: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Train PPO, play the agents' own rules in the same episodes, and return both; raises InputError.

    Args:
        payload: the world, and how long.
        config: of one job (`PolicyValues`).
        folder: of this training alone; the best weights stay there.
    """
    from lab.learning.libraries import check_installed  # noqa: PLC0415

    check_installed()
    from foresail.learn.one_policy import ONE_POLICY_ID, one_policy_env  # noqa: PLC0415 - the extra `learn`
    from inputs.clock import SystemClock  # noqa: PLC0415
    from lab.learning.environments.one_policy import rules_total  # noqa: PLC0415
    from lab.learning.evaluation.episodes import DEVELOPMENT_SEED  # noqa: PLC0415
    from lab.learning.training.plan import Plan  # noqa: PLC0415
    from lab.learning.training.recipes import Recipe  # noqa: PLC0415
    from lab.learning.training.run import BEST, read_curve, train  # noqa: PLC0415

    values = values_of(config)
    side = values.fragment_divisor
    part = values.train_batch // side
    world: dict[str, Any] = {
        "alpha": values.alpha, "beta": values.beta, "gamma": values.gamma,
        "workload": payload.workload, "nodes": payload.nodes, "steps": payload.steps,
    }  # fmt: skip
    hyper = {
        "learning_rate": values.learning_rate, "n_steps": part, "n_epochs": values.epochs,
        "batch_size": min(values.minibatch, part * side),
    }  # fmt: skip
    plan = Plan(
        environment=ONE_POLICY_ID,
        recipe=Recipe("policy-search", "PPO", payload.timesteps, side, (), hyper),
        seed=payload.seed,
        arguments=world,
        evaluate_every=payload.timesteps,
        development_episodes=payload.episodes,
    )
    outcome = train(plan, folder, SystemClock(), lambda _: None)
    mean = fmean(read_curve(folder)[-1].returns)
    seeds = range(DEVELOPMENT_SEED, DEVELOPMENT_SEED + payload.episodes)
    rules = rules_total(partial(one_policy_env, **world), seeds)
    metrics = {
        "score": mean + HEURISTIC_WEIGHT * rules,
        "episode_reward_mean": mean,
        "heuristic_total": rules,
        "policy_minus_heuristic": mean - rules,
        "beats_heuristic": float(mean > rules),
    }
    training = {
        "train_iters": -(-outcome.steps // (part * side)),
        "reward_mean": mean,
        "checkpoint": str(folder / BEST),
    }
    return {"metrics": metrics, "training": training}


def values_of(config: Mapping[str, Any]) -> PolicyValues:
    """Return a policy job's values; raises InputError for one that PPO cannot be trained with."""
    names = {field.name for field in fields(PolicyValues)}
    values = PolicyValues(**{name: value for name, value in config.items() if name in names})
    for name in ("train_batch", "minibatch", "epochs", "fragment_divisor"):
        value = getattr(values, name)
        if not isinstance(value, int) or value < 1:
            raise InputError(name, value, "give a whole number from 1 on")
    if values.train_batch % values.fragment_divisor:
        remedy = f"give a divisor of train_batch, which is {values.train_batch}"
        raise InputError("fragment_divisor", json.dumps(values.fragment_divisor), remedy)
    return values
