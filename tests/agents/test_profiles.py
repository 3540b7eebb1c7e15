"""Policy profiles and thresholds as settings: wrong ones are refused in one clear line."""

from __future__ import annotations

from typing import Any

import pytest

from bus.errors import ConfigError, InputError
from schemas.agents import agent_names
from services.agents.settings import AgentSettings


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        (
            {"safety": {"migrate_risk_ratio": 0.9}},
            "agents.safety.migrate_risk_ratio = 0.9: set it below replicate_risk_ratio (0.83)",
        ),
        (
            {"safety": {"throttle_risk_ratio": 0.7}},
            "agents.safety.throttle_risk_ratio = 0.7: set it below migrate_risk_ratio (0.7)",
        ),
        (
            {"efficiency": {"dvfs_demand_ratio": 0.1}},
            "agents.efficiency.dvfs_demand_ratio = 0.1: set it above sleep_demand_ratio (0.12)",
        ),
        (
            {"admission": {"hold_queue_length": 90}},
            "agents.admission.hold_queue_length = 90: set it below deprioritize_queue_length (80)",
        ),
        (
            {"profile": "sead"},
            "agents.profile = sead: use one of: baseline-rules, forecast, foresail, random",
        ),
        (
            {"profile": "forecast"},
            (
                "agents.profile = forecast: its thresholds come from a trained model's manifest; "
                "name one as agents.risk_model, or use baseline-rules"
            ),
        ),
    ],
)
def test_unusable_settings_name_field_value_and_remedy(settings: dict[str, Any], line: str) -> None:
    """Thresholds out of order and unusable profiles are refused at once."""
    with pytest.raises(ConfigError) as caught:
        AgentSettings.model_validate(settings)

    assert str(caught.value) == line


def test_changed_thresholds_change_the_name_of_the_profile() -> None:
    """A proposal never claims to follow the baseline when its numbers do not."""
    settings = AgentSettings.model_validate(
        {"profile": "baseline-rules", "safety": {"replicate_risk_ratio": 0.9}}
    )

    assert settings.profile_of("safety") == "baseline-rules+changed"
    assert settings.profile_of("admission") == "baseline-rules"
    assert settings.announcement("safety")["thresholds"]["replicate_risk_ratio"] == 0.9


@pytest.mark.parametrize("name", ["seed", "baseline-rules"])
def test_a_profile_goes_by_its_old_name_too(name: str) -> None:
    """Older files say `seed` and get the same thresholds; events carry the name that was given."""
    settings = AgentSettings.model_validate({"profile": name})
    changed = AgentSettings.model_validate(
        {"profile": name, "safety": {"replicate_risk_ratio": 0.9}}
    )

    for agent in agent_names():
        assert settings.thresholds(agent) == AgentSettings().thresholds(agent)
        assert settings.announcement(agent)["profile"] == name
    assert changed.profile_of("safety") == f"{name}+changed"


def test_settings_survive_the_environment() -> None:
    """What `foresail up` writes as JSON is read back as the same settings."""
    settings = AgentSettings.model_validate({"efficiency": {"sleep_demand_ratio": 0.05}})

    assert AgentSettings.model_validate_json(settings.model_dump_json()) == settings


RISK = {"replicate_risk_ratio": 0.09, "migrate_risk_ratio": 0.05, "throttle_risk_ratio": 0.02}


def test_the_forecast_profile_takes_its_thresholds_from_the_model() -> None:
    """Agent A acts by the manifest's numbers; agents without a trained model by the baseline's."""
    settings = AgentSettings.model_validate(
        {"profile": "forecast", "model_thresholds": {"safety": RISK}}
    )

    assert settings.safety.throttle_risk_ratio == 0.02
    assert settings.efficiency == AgentSettings().efficiency
    assert settings.profile_of("safety") == settings.profile_of("efficiency") == "forecast"
    assert settings.announcement("safety")["model_thresholds"] == {"safety": RISK}
    assert AgentSettings.model_validate_json(settings.model_dump_json()) == settings


def test_a_threshold_given_beside_the_model_wins_and_shows() -> None:
    """What the operator sets himself is kept, and the proposals say that it is not the model's."""
    settings = AgentSettings.model_validate(
        {
            "profile": "forecast",
            "model_thresholds": {"safety": RISK},
            "safety": {"throttle_risk_ratio": 0.01},
        }
    )

    assert settings.safety.throttle_risk_ratio == 0.01
    assert settings.safety.replicate_risk_ratio == 0.09
    assert settings.profile_of("safety") == "forecast+changed"


def test_a_manifest_with_an_unknown_threshold_is_refused() -> None:
    """A field that the agent does not have is named."""
    with pytest.raises(ConfigError, match="dance_risk_ratio"):
        AgentSettings.model_validate(
            {"profile": "forecast", "model_thresholds": {"safety": {"dance_risk_ratio": 0.5}}}
        )


def test_a_model_that_is_not_there_is_one_clear_line() -> None:
    """The folder is named, and what could be named instead."""
    with pytest.raises(InputError, match=r"model = nowhere: name a model's folder"):
        AgentSettings.model_validate({"profile": "forecast", "risk_model": "nowhere"})
