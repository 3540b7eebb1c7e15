"""Settings: every source counts in its order, origins are kept, and what is wrong is one clear
line.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from bus.errors import ConfigError
from features.baseline import MODEL_ID
from foresail.dependent_settings import fill_dependent
from foresail.flags import FLAGS, add_flags, seconds
from foresail.settings import StackSettings, resolve
from services.agents.calibration import FACTORS


def test_a_later_source_wins_and_is_named(tmp_path: Path) -> None:
    """Flags beat the environment, the environment beats the file, the file beats defaults."""
    file = tmp_path / "stack.toml"
    file.write_text("[run]\nnodes = 10\nseed = 1\nworkload = 'idle'\n")
    environment = {"FORESAIL_RUN__NODES": "20", "FORESAIL_RUN__SEED": "2"}

    settings = resolve(file, environment, {"run.nodes": "30"})

    assert (30, 2, "idle") == (settings.run.nodes, settings.run.seed, settings.run.workload)
    assert "flag --nodes" == settings.origins["run.nodes"]
    assert "environment FORESAIL_RUN__SEED" == settings.origins["run.seed"]
    assert "file stack.toml" == settings.origins["run.workload"]


def test_the_first_source_gives_a_field_as_a_whole(tmp_path: Path) -> None:
    """A table in the environment replaces the file's instead of being merged into it, so that an
    entry can also be taken away.
    """
    file = tmp_path / "stack.toml"
    file.write_text("[scoreboard.weights]\nsafety = 1.0\nefficiency = 2.0\n")
    variable = "FORESAIL_SCOREBOARD__WEIGHTS"

    settings = resolve(file, {variable: '{"safety": 3.0}'}, {})

    assert {"safety": 3.0} == settings.scoreboard.weights
    assert {"scoreboard.weights": f"environment {variable}"} == settings.origins


def test_settings_made_directly_read_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Neither the environment nor a .env file counts unless it is passed in."""
    monkeypatch.chdir(tmp_path)
    Path(".env").write_text('NODES=3\nRUN={"nodes": 3}\n')
    monkeypatch.setenv("RUN", '{"nodes": 3}')
    monkeypatch.setenv("FORESAIL_RUN__NODES", "3")

    for settings in (StackSettings(), resolve(None, {}, {})):
        assert (100, {}) == (settings.run.nodes, settings.origins)


def test_who_follows_the_cluster_knows_its_speed() -> None:
    """Collector and executor list in time lapse, where what a watch brings cannot be dated."""
    for given, speed in (({}, 1.0), ({"speed": 20.0}, 20.0)):
        filled = fill_dependent(StackSettings.model_validate({"run": given}))
        assert (filled.collector.speed, filled.executor.speed) == (speed, speed)


def test_agents_take_the_thresholds_of_the_models_that_predict() -> None:
    """Unless other ones were given; the formula has none. What follows has no origin of its own."""
    named = resolve(None, {}, {"inference.model": "small-risk"})
    given = resolve(None, {"FORESAIL_AGENTS__RISK_MODEL": "x"}, {"inference.model": "small-risk"})
    formula = resolve(None, {}, {"inference.model": "seed-formula/1"})

    models = [one.agents.risk_model for one in (named, given, formula)]
    assert ["small-risk", "x", ""] == models
    assert {"inference.model": "flag --model"} == named.origins


@pytest.mark.parametrize(
    ("file", "environment", "flags", "line"),
    [
        (
            "[run]\nnoddes = 3\n",
            {},
            {},
            r"run\.noddes = 3 in stack\.toml: unknown key; did you mean nodes",
        ),
        (
            "[colector]\nx = 3\n",
            {},
            {},
            r"\[colector\] = stack\.toml: use one of the groups collector",
        ),
        ("run = 3\n", {}, {}, r"run = 3: write it as a table \[run\] in stack\.toml"),
        ("run = [", {}, {}, r"--config = .*stack\.toml: write it as TOML"),
        (
            "",
            {"FORESAIL_RUN__NODDES": "3"},
            {},
            r"run\.noddes = '3' in the environment: unknown key",
        ),
        (
            "",
            {"FORESAIL_RNU__NODES": "3"},
            {},
            r"FORESAIL_RNU__NODES = 3: use one of the groups run",
        ),
        (
            "",
            {},
            {"run.nodes": "0"},
            r"run\.nodes = 0: Input should be greater than or equal to 1 \(flag --nodes\)",
        ),
        ("", {}, {"run.mode": "wild"}, r"run\.mode = wild: Input should be 'shadow' or 'active'"),
        (
            "",
            {},
            {"run.virtual_time": True},
            r"virtual_time never ends by itself; give for_seconds",
        ),
        ("[run]\nnodes = true\n", {}, {}, r"run\.nodes = True: give a number"),
        ("", {"FORESAIL_RUN__NODES": "1_0"}, {}, r"run\.nodes = 1_0: give a number"),
        (
            "[agents.safety]\nmigrate_risk_ratio = 0.9\n",
            {},
            {},
            r"migrate_risk_ratio = 0\.9: set it below",
        ),
        (
            "[executor.caps]\nper_node = 0\n",
            {},
            {},
            r"executor\.caps\.per_node = 0: .* \(file stack\.toml\)",
        ),
    ],
)
def test_a_wrong_setting_is_one_line(
    tmp_path: Path, file: str, environment: dict[str, str], flags: dict[str, object], line: str
) -> None:
    """The line names the field, the value, the remedy and where the value came from."""
    path = tmp_path / "stack.toml"
    path.write_text(file)

    with pytest.raises(ConfigError, match=line) as raised:
        resolve(path, environment, flags)
    assert "\n" not in str(raised.value)


def test_a_missing_file_is_named() -> None:
    """A config file that is not there is an error, not an empty one."""
    with pytest.raises(
        ConfigError, match=r"--config = nowhere\.toml: give a file that can be read"
    ):
        resolve(Path("nowhere.toml"), {}, {})


def test_dependent_settings_follow_the_run_unless_given() -> None:
    """The interval reaches collector, agents and referee; a value that the user gave stays."""
    given = resolve(
        None, {"FORESAIL_REFEREE__WALL_INTERVAL_SECONDS": "9"}, {"run.interval_seconds": 2.0}
    )

    settings = fill_dependent(given)

    assert 2.0 == settings.collector.interval_seconds
    assert 2.0 == settings.agents.wall_interval_seconds
    assert 9.0 == settings.referee.wall_interval_seconds


def test_profile_foresail_has_the_model_of_every_age_beside_it() -> None:
    """As a shadow, unless others were named; the active model and the other profiles are unchanged."""
    shadows = [
        fill_dependent(resolve(None, {}, given)).inference
        for given in (
            {},
            {"agents.profile": "foresail", "inference.shadow_models": ("small-risk",)},
            {"agents.profile": "baseline-rules"},
        )
    ]
    assert [("age-risk",), ("small-risk",), ("small-risk",)] == [
        one.shadow_models for one in shadows
    ]
    assert {MODEL_ID} == {one.model for one in shadows}


def test_models_are_promoted_where_agents_judge_by_expected_value_alone() -> None:
    """`auto` is decided by the profile; where thresholds belong to one model, `on` is refused in one line."""

    def promotion(**given: str) -> str:
        flags = {name.replace("__", "."): value for name, value in given.items()}
        return fill_dependent(resolve(None, {}, flags)).scoreboard.promotion.when

    assert promotion(agents__profile="foresail") == "on"
    assert promotion(agents__profile="foresail", promotion__when="off") == "off"
    assert promotion() == "on"
    assert promotion(agents__profile="baseline-rules") == "off"
    with pytest.raises(ConfigError) as refused:
        promotion(agents__profile="baseline-rules", promotion__when="on")
    assert str(refused.value).startswith("promotion.when")
    assert "use agents.profile = foresail" in str(refused.value)


def test_expected_values_use_the_prices_of_the_score() -> None:
    """What agents weigh by is what they are scored by: one price of each thing, and the power model's watts."""
    environment = {
        "FORESAIL_SCORE__SLO_SERVICE_MINUTE": "9",
        "FORESAIL_SCORE__CURRENCY": "EUR",
        "FORESAIL_COLLECTOR__POWER": '{"idle_watts": 70.0, "sleep_watts": 3.0}',
    }

    value = fill_dependent(resolve(None, environment, {})).agents.value

    assert (9.0, "EUR") == (value.slo_service_minute, value.currency)
    assert (70.0, 3.0) == (value.idle_watts, value.sleep_watts)


@pytest.mark.parametrize(
    ("provisioner", "given", "expected"),
    [
        ("none", {}, False),
        ("karpenter", {}, True),
        ("karpenter", {"FORESAIL_AGENTS__VALUE": '{"machines_rented": false}'}, False),
        ("none", {"FORESAIL_AGENTS__VALUE": '{"machines_rented": true}'}, True),
    ],
)
def test_agents_know_whether_machines_are_rented(
    provisioner: str, given: dict[str, str], expected: bool
) -> None:
    """The twin's provisioner says it; who runs one on a real cluster sets it, and what was set stays."""
    settings = fill_dependent(resolve(None, given, {"run.provisioner": provisioner}))

    assert settings.agents.value.machines_rented is expected


@pytest.mark.parametrize(
    ("given", "ratio", "pods"),
    [
        ("{}", 12.0, "80%"),
        ('{"surge_pods": "30%"}', 12.0, "30%"),
        ('{"surge_ratio": 3.0, "surge_pods": "7"}', 3.0, "7"),
    ],
)
def test_agents_and_executor_bound_added_pods_alike(given: str, ratio: float, pods: str) -> None:
    """An agent never asks for what the executor would refuse."""
    settings = fill_dependent(resolve(None, {"FORESAIL_EXECUTOR__CAPS": given}, {}))

    caps, value = settings.executor.caps, settings.agents.value
    assert (caps.surge_ratio, caps.surge_pods) == (ratio, pods)
    assert (value.most_surge, value.surge_pods) == (ratio, pods)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, 4),
        ({"FORESAIL_EXECUTOR__NAMED_PODS_PER_MIGRATION": "2"}, 2),
        ({"FORESAIL_AGENTS__VALUE": '{"room_pods": 0}'}, 0),
    ],
)
def test_agents_move_no_more_pods_than_the_executor_would(
    given: dict[str, str], expected: int
) -> None:
    """What it would refuse is not wished for; 0 makes no room at all."""
    assert fill_dependent(resolve(None, given, {})).agents.value.room_pods == expected


def test_expectations_are_corrected_by_what_was_measured_unless_given() -> None:
    """The shipped factors reach the agents; what the user names in the same table stays, and the rest is filled in."""
    environment = {"FORESAIL_AGENTS__VALUE": '{"calibration": {"power_state:sleep": 0}}'}

    given = fill_dependent(resolve(None, environment, {})).agents.value.calibration
    priced = {
        "FORESAIL_SCORE__SLO_SERVICE_MINUTE": "9",
        "FORESAIL_AGENTS__VALUE": '{"moves": 0, "eviction": 1}',
    }
    value = fill_dependent(resolve(None, priced, {})).agents.value

    assert (value.moves, value.eviction, value.slo_service_minute) == (0, 1.0, 9.0)
    assert fill_dependent(resolve(None, {}, {})).agents.value.calibration == FACTORS
    assert given == {**FACTORS, "power_state:sleep": 0.0}


@pytest.mark.parametrize(
    ("text", "expected"),
    [("120s", 120.0), ("2m", 120.0), ("1.5h", 5400.0), ("7", 7.0), ("50ms", 0.05)],
)
def test_durations_are_read(text: str, expected: float) -> None:
    """Durations take the usual units; a plain number is seconds."""
    assert expected == seconds(text)


@pytest.mark.parametrize(
    ("given", "profile"),
    [
        ({}, "foresail"),
        ({"run.exercise": True}, "baseline-rules"),
        ({"run.exercise": True, "agents.profile": "foresail"}, "foresail"),
    ],
)
def test_the_exerciser_brings_the_rules_that_its_phases_are_made_for(
    given: dict[str, object], profile: str
) -> None:
    """Unless a profile was named; what depends on the profile follows."""
    settings = fill_dependent(resolve(None, {}, given))

    assert settings.agents.profile == profile
    assert settings.scoreboard.breaker.enabled == (profile == "foresail")


def test_a_threshold_that_would_change_nothing_is_refused(tmp_path: Path) -> None:
    """Agents that judge by expected value have none, which one line says with the remedy."""
    file = tmp_path / "own.toml"
    file.write_text("[agents.safety]\nreplicate_risk_ratio = 0.9\n", encoding="utf-8")

    with pytest.raises(ConfigError) as refused:
        fill_dependent(resolve(file, {}, {}))
    assert str(refused.value).startswith(
        "agents.safety.replicate_risk_ratio = 0.9: profile foresail"
    )
    assert "--profile baseline-rules" in str(refused.value)
    named = {"agents.profile": "baseline-rules"}
    assert fill_dependent(resolve(file, {}, named)).agents.safety.replicate_risk_ratio == 0.9


def test_a_history_is_named_by_a_flag() -> None:
    """Several files are separated by commas, as namespaces are."""
    parser = argparse.ArgumentParser()
    add_flags(parser, {flag.name: "" for flag in FLAGS})
    given = parser.parse_args(["--history", "a.csv,b.parquet"])
    assert vars(given)["collector.history_files"] == ("a.csv", "b.parquet")
