"""The three agents trained together by RLlib: `make test-rllib`; elsewhere these skip."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ray.rllib", reason="needs the extra `rllib`: make test-rllib")

from foresail.__main__ import main
from foresail.settings import resolve
from foresail.stack.virtual import run_virtual_stack
from schemas.learned import LearnedChoice

STAGE = (
    "train_iters=1,train_batch_size=40,minibatch_size=20,num_epochs=1,rollout_fragment_length=20"
)


@pytest.mark.filterwarnings("ignore:.*Overriding environment")  # RLlib registers its own twice
@pytest.mark.parametrize(("policies", "workers"), [("separate", "0"), ("shared", "1")])
def test_both_stages_train_and_the_files_run_beside_the_rules(
    tmp_path: Path, policies: str, workers: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Cycles of both stages count, no file acts otherwise than RLlib, and all three are asked in a stack's shadow."""
    folder = tmp_path / "agents"
    words = [
        "learn",
        "train-agents",
        "--policies",
        policies,
        "--workers",
        workers,
        "--name",
        str(folder),
    ]
    words += [
        "--stage",
        STAGE,
        "--stage",
        STAGE,
        "--env-argument",
        "steps=20",
        "--env-argument",
        "nodes=4",
    ]
    assert main([*words, "--episodes", "1", "--states", "2000", "--json"]) == 0
    outcome: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert outcome["steps"] >= 80
    lines = [json.loads(line) for line in (folder / "curve.jsonl").read_text().splitlines()]
    assert [line["stage"] for line in lines] == [0, 1]
    assert {one["differing_elsewhere"] for one in outcome["agreement"].values()} == {0}
    assert all(len(totals) == 1 for totals in outcome["totals"].values())
    files = {"safety": "A", "efficiency": "B", "admission": "C"}
    learned = {"files": {name: str(folder / f"{file}.policy") for name, file in files.items()}}
    run = {
        "workload": "openb",
        "nodes": 4,
        "virtual_time": True,
        "for_seconds": 20.0,
        "untouched": "off",
    }
    told: list[LearnedChoice] = []
    run_virtual_stack(
        resolve(
            None,
            {},
            {**{f"run.{name}": value for name, value in run.items()}, "agents.learned": learned},
        ),
        quiet=True,
        listener=lambda event: (
            told.append(event.data) if isinstance(event.data, LearnedChoice) else None
        ),
    )
    assert {one.agent for one in told if one.choice is not None} == set(files)
