"""AIOpsLab's problems: the catalogue, the answers that a recorded episode gives, their scores and rewards."""

from __future__ import annotations

import ast
import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bus.errors import InputError
from bus.events import read_entry
from bus.recording import open_recording
from foresail.__main__ import main
from foresail.experiment.aiopslab_preflight import preflight
from lab.aiopslab.agent import ForesailAgent
from lab.aiopslab.catalogue import CATALOGUE, read_catalogue, task_of
from lab.aiopslab.findings import Finding
from lab.aiopslab.rewards import lab_rewards
from lab.aiopslab.scoring import answer_to, localization, submission
from lab.traps.trap import read_traps
from schemas.actions import (
    Action,
    AdmissionAction,
    MigrateAction,
    PowerStateAction,
    Target,
    TargetKind,
)
from schemas.envelope import Event
from services.agent_rewards import RewardInput

FOLDER = Path(__file__).parents[3] / "experiments" / "aiopslab"
NODE = Target(kind=TargetKind.NODE, name="node-0001")
QUEUE = Target(kind=TargetKind.QUEUE, name="pending")


def test_the_catalogue_is_whole() -> None:
    """89 problems in 28 families, eight with all four tasks; each that is played has its world."""
    catalogue = read_catalogue(FOLDER)
    ids = catalogue.problem_ids
    assert len(ids) == len(set(ids)) == 89
    assert len(catalogue.family) == 28
    full = [
        one for one in catalogue.family if len({task_of(each) for each in one.problem_ids}) == 4
    ]
    assert len(full) == 7 + 1  # the predecessor's own count of full families
    assert {trap.name for trap in read_traps(FOLDER / "problems")} == {
        family.name for family in catalogue.played
    }
    assert all(
        bool(family.fault_type) is any("analysis" in one for one in family.problem_ids)
        for family in catalogue.family
    )


@pytest.fixture(scope="module")
def episode(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Record one problem: a Deployment that somebody scales to zero."""
    folder = tmp_path_factory.mktemp("episodes")
    code = main(
        [
            "experiment",
            "aiopslab",
            "scale_pod_zero_social_net",
            "--problems",
            str(FOLDER),
            "--keep",
            str(folder),
        ]
    )
    assert code == 0
    return folder / "scale_pod_zero_social_net.fslog"


def test_a_recorded_episode_is_answered_and_scored(
    episode: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Seen within a minute, at the right Service; not undone, so mitigation is not solved; no cause is guessed."""
    capsys.readouterr()
    arguments = [
        "experiment",
        "aiopslab",
        "scale_pod_zero_social_net-detection-1",
        "--problems",
        str(FOLDER),
    ]
    assert main([*arguments, "--recording", str(episode), "--json"]) == 0
    (played,) = json.loads(capsys.readouterr().out)
    detection, place, analysis, mitigation = played["problems"]
    assert detection == {
        "id": "scale_pod_zero_social_net-detection-1", "answer": "Yes", "solved": True,
        "Detection Accuracy": "Correct", "TTD": detection["TTD"],
    }  # fmt: skip
    assert 0 < detection["TTD"] <= 60
    assert (place["answer"], place["Localization Accuracy"]) == (["user-service"], 100.0)
    assert (analysis["answer"], analysis["success"], mitigation["success"]) == (None, False, False)
    assert played["decisions"] == 36
    assert played["rewards"]["admission"] == 36.0  # one a decision: nothing is completed here


@pytest.mark.parametrize(
    ("family", "places"),
    [
        ("astronomy_shop_loadgenerator_flood_homepage", ["frontend"]),
        ("assign_to_non_existent_node_social_net", ["user-service"]),
        ("pod_kill_hotel_res", ["user"]),
        ("noop", None),
    ],
)
def test_a_fault_is_played_found_and_answered_as_expected(
    family: str, places: list[str] | None, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is to be done is done, nothing else, and every detection and place is right."""
    assert main(["experiment", "aiopslab", family, "--problems", str(FOLDER), "--json"]) == 0
    (played,) = json.loads(capsys.readouterr().out)
    asked = [
        one for one in played["problems"] if task_of(one["id"]) in {"detection", "localization"}
    ]
    assert all(one["solved"] for one in asked)
    found = sorted({one["service"] for one in played["findings"]})
    assert found == (places or [])


def test_the_agent_speaks_as_the_orchestrator_asks(episode: Path) -> None:
    """One block of code with one call, which can be parsed; it waits while the log shows nothing, and not for ever."""

    def events() -> Iterator[Event[Any]]:
        for message in open_recording(episode):
            event = read_entry(message).event
            if event is not None:
                yield event

    agent = ForesailAgent("scale_pod_zero_social_net-localization-1", events)
    agent.init_context("a description", "instructions", {})
    assert _call(asyncio.run(agent.get_action("Please take the next action"))) == (
        "submit",
        [["user-service"]],
    )
    early = ForesailAgent("noop_detection_social_network-1", list, turns=2)
    said = [_call(asyncio.run(early.get_action(""))) for _ in range(2)]
    assert said == [("exec_shell", ["sleep 30"]), ("submit", ["No"])]
    assert _call(submission("mitigation", None)) == ("submit", [])


def _call(said: str) -> tuple[str, list[Any]]:
    """Parse an answer as AIOpsLab's ResponseParser does."""
    (block,) = re.findall(r"```\s*\n(.*?)\n```", said, re.DOTALL)
    call = ast.parse(block).body[0]
    assert isinstance(call, ast.Expr)
    assert isinstance(call.value, ast.Call)
    assert isinstance(call.value.func, ast.Name)
    return call.value.func.id, [ast.literal_eval(one) for one in call.value.args]


@pytest.mark.parametrize(
    ("answer", "accuracy", "success"),
    [
        (["geo"], 100.0, True),
        (["geo", "rate"], 50.0, False),
        (["rate"], 0.0, False),
        ([], 0.0, False),
    ],
)
def test_a_place_among_others_counts_its_share(
    answer: list[str], accuracy: float, success: bool
) -> None:
    """Alone is all, among two half, elsewhere or nowhere nothing."""
    score = localization(answer, ["geo"])
    assert (score["Localization Accuracy"], score["success"]) == (accuracy, success)


def test_what_is_found_is_said_once_a_service() -> None:
    """Two signs at one Service are one place."""
    found = [Finding("geo", "pods not ready", 5.0), Finding("geo", "objective missed", 7.0)]
    assert answer_to("localization", found) == ["geo"]
    assert answer_to("detection", []) == "No"


CALM = RewardInput(
    queue_length=10,
    sla_violations=0,
    completed_tasks=0,
    dead_tasks=0,
    max_demand_ratio=0.5,
    energy_watts=600.0,
)
BUSY = CALM.model_copy(update={"queue_length": 90})
MIGRATE = MigrateAction(agent="safety", target=NODE)
SLEEP = PowerStateAction(agent="efficiency", target=NODE, power_state="sleep")


def admission(word: Any) -> AdmissionAction:
    """Return what becomes of the queue."""
    return AdmissionAction(agent="admission", target=QUEUE, admission=word)


@pytest.mark.parametrize(
    ("action", "before", "risk", "demand", "rewards"),
    [
        (MIGRATE, CALM, 0.7, 0.5, (11, 1, 1)),
        (MIGRATE, CALM, 0.69, 0.5, (-19, 1, 1)),
        (SLEEP, CALM, 0.1, 0.34, (1, 6, 1)),
        (SLEEP, CALM, 0.1, 0.35, (1, -29, 1)),
        (admission("admit"), CALM, 0.1, 0.5, (1, 1, 6)),
        (admission("admit"), BUSY, 0.1, 0.5, (1, 1, -49)),
        (admission("reject"), CALM, 0.1, 0.5, (1, 1, -19)),
        (admission("deprioritize"), BUSY, 0.1, 0.5, (1, 1, 4)),
    ],
)
def test_the_rewards_are_those_of_the_predecessor_on_aiopslab(
    action: Action, before: RewardInput, risk: float, demand: float, rewards: tuple[float, ...]
) -> None:
    """A +10 or -20 by its own threshold, B +5 or -30 by the least demand, C by the queue; each with 1 for the step."""
    found = lab_rewards((action,), before, risk=risk, min_demand=demand)
    assert tuple(found.values()) == rewards


def test_the_preflight_names_each_thing_that_is_missing(tmp_path: Path) -> None:
    """Python, package, kubeconfig and programs, each with what to do about it."""
    found = preflight(
        None, python=(3, 13), environment={"KUBECONFIG": str(tmp_path / "none"), "PATH": ""}
    )
    assert found["status"] == "blocked"
    assert [blocker.partition(":")[0] for blocker in found["blockers"] if "aiopslab" not in blocker] == [
        "Python 3.11 or 3.12 is needed", f"no kubeconfig at {tmp_path / 'none'}", "kubectl is not on PATH",
        "helm is not on PATH", "docker is not on PATH",
    ]  # fmt: skip
    config = tmp_path / "config"
    config.write_text("")
    there = preflight(str(config), python=(3, 12), environment={"PATH": ""})
    assert not any("kubeconfig" in one or "Python" in one for one in there["blockers"])


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (
            ["k8s_target_port-misconfig"],
            "it is not played here: requests reach a Service's ready pods",
        ),
        (["nothing"], "give a problem's id, or one of: scale_pod_zero_social_net"),
        (["--recording", "x.fslog"], "name the one family that it is of"),
    ],
)
def test_what_cannot_be_played_is_refused_by_name(
    arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line, exit code 2."""
    assert main(["experiment", "aiopslab", *arguments, "--problems", str(FOLDER)]) == 2
    assert complaint in capsys.readouterr().err


def test_a_family_is_played_or_left_out(tmp_path: Path) -> None:
    """A family that says neither what is expected nor why it is left out is refused."""
    text = (FOLDER / CATALOGUE).read_text()
    (tmp_path / CATALOGUE).write_text(
        text.replace('left_out = "there is no network: requests reach pods at once"', "")
    )
    with pytest.raises(
        InputError, match="network_loss_hotel_res: give expected and stands_for, or left_out"
    ):
        read_catalogue(tmp_path)
