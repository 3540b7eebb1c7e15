"""`foresail what-if`: a change moves exactly the decisions whose inputs cross it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bus.recording import open_recording
from foresail.__main__ import main
from lab.rerun.what_if import what_if
from schemas.decision import Decision
from schemas.prediction import PredictionRisk
from schemas.proposal import Proposal
from schemas.registry import UnknownEvent, decode

FEW = settings(
    max_examples=5,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def data_of(path: Path, kind: type[Any]) -> Iterator[Any]:
    """Yield the data of one type of event."""
    for message in open_recording(path):
        try:
            event = decode(message.subject, message.headers, message.data)
        except UnknownEvent:
            continue
        if isinstance(event.data, kind):
            yield event.data


def test_nothing_changed_gives_an_empty_diff(recorded_run: Path) -> None:
    """Every layer computed again from the snapshots on, with nothing changed, decides the same."""
    result = what_if(recorded_run, {}, from_layer="observation")

    assert result.empty
    assert result.classes["same"] == sum(1 for _ in data_of(recorded_run, Decision))
    assert result.baseline.as_json() == result.changed.as_json()
    assert result.baseline.rewarded > 0


@FEW
@given(threshold=st.floats(0.701, 1.0))
def test_a_risk_threshold_moves_the_decisions_whose_risk_lies_between(
    recorded_run: Path, threshold: float
) -> None:
    """Old and new threshold of replicate enclose the highest risk of exactly the cycles that differ."""
    low, high = sorted((0.83, round(threshold, 6)))
    highest = {
        risk.cycle: max(risk.nodes.risk_ratio)
        for risk in data_of(recorded_run, PredictionRisk)
        if risk.nodes.ids
    }
    expected = {cycle for cycle, risk in highest.items() if low <= risk < high}

    result = what_if(recorded_run, {"agents.safety.replicate_risk_ratio": round(threshold, 6)})

    assert {one.cycle for one in result.listed} == expected
    assert result.classes["changed"] == len(expected)


@FEW
@given(threshold=st.floats(0.01, 0.299))
def test_a_demand_threshold_moves_decisions_of_its_agent_alone(
    recorded_run: Path, threshold: float
) -> None:
    """What agent B would do otherwise matters only in the cycles that B won."""
    low, high = sorted((0.12, round(threshold, 6)))
    demand = {
        proposal.cycle: next(
            item.value for item in proposal.evidence if item.name == "demand_ratio"
        )
        for proposal in data_of(recorded_run, Proposal)
        if proposal.agent == "efficiency"
        and any(x.name == "demand_ratio" for x in proposal.evidence)
    }
    won = {
        decision.cycle
        for decision in data_of(recorded_run, Decision)
        if decision.action.agent == "efficiency"
    }
    expected = {cycle for cycle, value in demand.items() if low <= value < high} & won

    result = what_if(recorded_run, {"agents.efficiency.sleep_demand_ratio": round(threshold, 6)})

    assert {one.cycle for one in result.listed} == expected


def test_the_rules_can_be_tried_in_another_order(recorded_run: Path, tmp_path: Path) -> None:
    """With admission before safety, every cycle in which both wanted something goes to admission."""
    rules = tmp_path / "rules.toml"
    order = (
        "no_proposals",
        "all_noop",
        "admission_protects",
        "safety_first",
        "efficiency_by_score",
        "safety_blind",
        "fixed_order",
    )
    rules.write_text(f"order = {json.dumps(order)}\n", encoding="utf-8")

    assert 0 == main(
        ["what-if", str(recorded_run), "--rules", str(rules), "--html", str(tmp_path / "page.html")]
    )

    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    content = page.partition('id="result">')[2].partition("</script>")[0]
    actual = json.loads(content)
    held = {
        candidate.cycle
        for candidate in data_of(recorded_run, Decision)
        if candidate.rule == "safety_first"
        and any(
            other.agent == "admission" and other.kind != "noop" for other in candidate.considered
        )
    }
    assert {one["cycle"] for one in actual["differing"]} <= held
    assert all(one["after"].startswith("AgentC") for one in actual["differing"])
    assert "http" not in page.replace("http-equiv", "")


def test_assertions_decide_the_exit_code(
    recorded_run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A CI job fails exactly when what was asked does not hold, and says which."""
    command = ["what-if", str(recorded_run), "--set", "agents.safety.replicate=0.95", "--json"]
    holds = "churn <= baseline and reward >= baseline - 1000"
    fails = "actions < baseline * 0.1"

    assert 0 == main([*command, "--assert", holds])
    capsys.readouterr()
    assert 1 == main([*command, "--assert", holds, "--assert", fails])

    content = json.loads(capsys.readouterr().out)
    assert content["assertions"] == {holds: True, fails: False}
    assert content["loop"].startswith("open-loop")


@pytest.mark.parametrize(
    ("words", "expected_text"),
    [
        (("--set", "agents.safety.replicat=0.9"), "agents.safety.replicat"),
        (("--set", "agents.safety.replicate=2"), "agents.safety.replicate_risk_ratio"),
        (("--set", "agents.safety.replicate=0.1"), "migrate_risk_ratio"),
        (("--set", "agents.safety.replicate"), "write it as"),
        (("--set", "executor.cool_down_seconds=1"), "--plant twin"),
        (("--profile", "wild"), "agents.profile"),
        (("--profile", "forecast"), "manifest"),
        (("--model", "nowhere"), "nowhere"),
        (("--rules", "nowhere.toml"), "nowhere.toml"),
        (("--assert", "profit > 1"), "profit"),
        (("--assert", "churn <="), "churn <="),
    ],
)
def test_bad_input_is_one_clear_line(
    recorded_run: Path,
    words: tuple[str, ...],
    expected_text: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What cannot be tried ends with exit code 2 and names what was wrong."""
    assert 2 == main(["what-if", str(recorded_run), *words])

    error = capsys.readouterr().err
    assert expected_text in error
    assert 1 == error.count("\n")
