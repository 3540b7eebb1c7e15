"""Which decision is meant, and what `--json` holds."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from foresail.__main__ import main
from schemas.decision import Decision
from schemas.prediction import PredictionShadow, RiskTable
from tests.builders import cycle_time
from tests.explain.theatre import CALM, RISKY, Theatre
from tests.tap.conftest import write_recording

Explain = Callable[..., str]


@pytest.fixture(scope="module")
def three_cycles() -> Theatre:
    """Play three cycles, with a shadow model beside the formula in the second."""
    theatre = Theatre()

    async def play() -> None:
        await theatre.play(CALM)
        await theatre.play(RISKY)
        await theatre.play(CALM)

    asyncio.run(play())
    shadow = PredictionShadow(
        cycle=2,
        cluster_time_seconds=cycle_time(2),
        status="result",
        model_id="borg-risk/0123456789ab",
        horizon_seconds=900.0,
        features_hash="0" * 64,
        calibrated=True,
        alarm_ratio=0.2,
        slot=1,
        nodes=3,
        risk_table=RiskTable(ids=("node-0", "node-1"), risk_ratio=(0.01, 0.31)),
    )
    theatre.tell(shadow, 2, "inference")
    return theatre


@pytest.fixture
def explain(three_cycles: Theatre, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Explain:
    """Run `foresail explain` over a recording of the play."""
    file = write_recording(tmp_path / "run.fslog", three_cycles.events)

    def run(*arguments: str, code: int = 0) -> str:
        assert main(["explain", *arguments, "--recording", str(file)]) == code
        output = capsys.readouterr()
        return output.out if code == 0 else output.err

    return run


@pytest.mark.parametrize(
    ("expected", "cycle"),
    [
        ((), 3),
        (("last",), 3),
        (("2",), 2),
        (("00:00:20",), 2),
        (("00:00:29",), 2),
        (("00:01",), 3),
        (("2026-01-01T00:00:10Z",), 1),
        (("2026-01-01 00:00:25",), 2),
        (("15s",), 1),
        (("+9s",), 1),
        (("+10s",), 2),
        (("+1m",), 3),
        (("0.5m",), None),
    ],
)
def test_a_decision_is_named_by_number_or_time(
    explain: Explain, expected: tuple[str, ...], cycle: int | None
) -> None:
    """A time means the newest decision at that time; one before the first is refused."""
    if cycle is None:
        assert "the first decision is of 2026-01-01T00:00:10" in explain(*expected, code=2)
    else:
        assert explain(*expected).startswith(f"cycle {cycle} ")


def test_a_decision_is_named_by_its_id(explain: Explain, three_cycles: Theatre) -> None:
    """The id in any event that a decision caused leads to its screen."""
    second = [event for event in three_cycles.events if isinstance(event.data, Decision)][1]
    assert explain(second.id).startswith("cycle 2 ")


@pytest.mark.parametrize("expected", ["77", "yesterday", "25:00"])
def test_what_does_not_exist_is_one_line(explain: Explain, expected: str) -> None:
    """Exit code 2, with what could be given instead."""
    text = explain(expected, code=2)
    assert "there is no such" in text
    assert len(text.splitlines()) == 1


def test_shadow_models_are_shown_beside_the_active_one(explain: Explain) -> None:
    """What would have been said stands below what was, with its own threshold."""
    text = " ".join(explain("2").split())
    assert "shadow 1 risk borg-risk/0123456789ab, 900 s (probability, acts >= 0.2)" in text
    assert "highest of 2: node-1 0.31" in text


def test_json_holds_the_whole_story(explain: Explain) -> None:
    """Every part is there with its seq; tables are left to `tap`."""
    content = json.loads(explain("2", "--json"))

    assert content["cycle"] == 2
    assert content["decision"]["data"]["rule"] == "safety_first"
    assert [prediction["type"].split(".")[2] for prediction in content["predictions"]] == [
        "risk",
        "demand",
        "shadow",
    ]
    assert {proposal["seq"] > 0 for proposal in content["proposals"]} == {True}
    assert "nodes" not in content["observation"]["data"]
    assert content["executions"][-1]["data"]["phase"] == "refused"
