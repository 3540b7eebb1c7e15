"""Settings that follow from the run's own: pacing, mode, namespaces and seeds, unless the user set
them directly.
"""

from __future__ import annotations

from typing import Any

from bus.errors import ConfigError
from foresail.settings import StackSettings
from projections.breaker.settings import BreakerSettings
from projections.promotion.settings import PromotionSettings
from schemas.agents import agent_names
from schemas.model import DataModel
from schemas.outcome import Mode
from services.agents.profiles import BASELINE_RULES, FORESAIL
from services.agents.value_settings import PRICES_OF_VALUE, ValueSettings

SHADOWS = ("age-risk",)
"""What predicts beside the active models under profile `foresail`: a model becomes active by skill shown live, and
this one has not shown it yet."""

FILLED_IN_PART = ("agents.value",)
"""Tables in which the user's fields stay and the others are filled in."""


def fill_dependent(settings: StackSettings) -> StackSettings:
    """Return the settings with every dependent value filled in; a value that the user gave is left
    alone.
    """
    settings = _with_profile(settings)
    run = settings.run
    speed = 1.0 if run.speed is None else run.speed
    seed = settings.switchback.seed if "switchback.seed" in settings.origins else run.seed
    switchback = settings.switchback.model_copy(update={"seed": seed})
    prometheus = settings.collector.prometheus
    dependents: dict[str, dict[str, Any]] = {
        "collector": {
            "interval_seconds": run.interval_seconds,
            "speed": speed,
            "namespaces": run.namespace_prefixes or run.namespaces,
        },
        "inference": {
            "shadow_models": SHADOWS if settings.agents.profile == FORESAIL.name else None,
            "pod_sizes": True if settings.agents.value.right_size else None,
        },
        "agents": {
            "wall_interval_seconds": run.interval_seconds,
            "random_seed": run.seed,
            "value": priced(settings),
        },
        "referee": {"wall_interval_seconds": run.interval_seconds},
        "executor": {
            "mode": run.mode,
            "speed": speed,
            "namespaces": run.namespaces if run.kubeconfig else None,
            "prometheus": prometheus if prometheus.url else None,
            "switchback": switchback,
        },
        "exerciser": {"seed": run.seed},
        "scoreboard": {
            "score": settings.score,
            "switchback": switchback,
            "breaker": breaker_of(settings),
            "promotion": promotion_of(settings),
            "foresight": settings.foresight,
            "mismatch": settings.mismatch,
        },
        "switchback": {"seed": run.seed},
    }
    filled: dict[str, DataModel] = {}
    for name, fields in dependents.items():
        group = settings.groups[name]
        missing = {
            field: value
            for field, value in fields.items()
            if value is not None
            and (f"{name}.{field}" not in settings.origins or f"{name}.{field}" in FILLED_IN_PART)
        }
        if missing:
            filled[name] = type(group).model_validate({**group.model_dump(), **missing})
    return settings.model_copy(update=filled)


def _with_profile(settings: StackSettings) -> StackSettings:
    """Return the settings with the rules that the exerciser's phases are made for, where it runs and nobody chose
    others: under `foresail` most of its load is no reason to act.

    Raises:
        ConfigError: thresholds are given for agents that judge by expected value, where they would change nothing.
    """
    if not settings.run.exercise or "agents.profile" in settings.origins:
        _refuse_thresholds(settings)
        return settings
    given = {**settings.agents.model_dump(), "profile": BASELINE_RULES.name}
    agents = type(settings.agents).model_validate(given)
    return settings.model_copy(update={"agents": agents})


def _refuse_thresholds(settings: StackSettings) -> None:
    if not settings.agents.by_value:
        return
    for agent in agent_names():
        if f"agents.{agent}" in settings.origins:
            given = settings.agents.thresholds(agent)
            field = next(iter(sorted(given.model_fields_set)), "")
            raise ConfigError(
                f"agents.{agent}.{field}",
                getattr(given, field, None),
                f"profile {settings.agents.profile} judges by expected value and has no thresholds; "
                f"add --profile {BASELINE_RULES.name}, or leave it out",
            )


def breaker_of(settings: StackSettings) -> BreakerSettings:
    """Return the breakers' settings with `auto` decided: on where agents judge by expected value."""
    breaker = settings.breaker
    if breaker.when != "auto":
        return breaker
    when = "on" if settings.agents.by_value else "off"
    return breaker.model_copy(update={"when": when})


def promotion_of(settings: StackSettings) -> PromotionSettings:
    """Return the settings of the promotion of risk models with `auto` decided: on where agents judge by expected value.

    Raises:
        ConfigError: it is switched on for agents whose thresholds belong to one model.
    """
    promotion, by_value = settings.promotion, settings.agents.by_value
    if promotion.when == "auto":
        return promotion.model_copy(update={"when": "on" if by_value else "off"})
    if promotion.enabled and not by_value:
        why = f"the thresholds of profile {settings.agents.profile} belong to one model"
        raise ConfigError(
            "promotion.when", promotion.when, f"{why}; use agents.profile = {FORESAIL.name}"
        )
    return promotion


def priced(settings: StackSettings) -> ValueSettings:
    """Return what expected values rest on, with the outcome score's prices and the power model's watts."""
    prices = {name: getattr(settings.score, name) for name in PRICES_OF_VALUE}
    power = settings.collector.power
    watts = {"idle_watts": power.idle_watts, "sleep_watts": power.sleep_watts}
    value = settings.agents.value
    filled = {
        **prices,
        **watts,
        "untouched_seed": settings.run.seed,
        "machines_rented": settings.run.provisioner != "none",
        "most_surge": settings.executor.caps.surge_ratio,
        "surge_pods": settings.executor.caps.surge_pods,
        "overdue_seconds": settings.collector.overdue_seconds,
        "room_pods": settings.executor.named_pods_per_migration,
    }
    if "agents.value" in settings.origins:
        filled = {name: filled[name] for name in filled.keys() - value.model_fields_set}
    return value.model_copy(update=filled).with_measured()


def mode_of(settings: StackSettings, otherwise: Mode) -> Mode:
    """Return the mode in which the executor will run; `otherwise` where nobody chose one."""
    if "executor.mode" in settings.origins:
        return settings.executor.mode
    return otherwise if settings.run.mode is None else Mode(settings.run.mode)
