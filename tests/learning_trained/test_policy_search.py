"""A job of the predecessors' policy search, trained to its end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from foresail.__main__ import main


def test_a_policy_is_trained_and_held_against_the_rules(tmp_path: Path) -> None:
    """Both are paid on one scale, the objective is theirs, and the best weights stay."""
    output = tmp_path / "r.json"
    payload = {"kind": "policy", "nodes": 4, "steps": 8, "timesteps": 32, "episodes": 1}
    config = {"train_batch": 32, "minibatch": 64, "epochs": 1, "fragment_divisor": 2, "alpha": 2.0}
    words = ["session", "job", "--payload", json.dumps(payload), "--config", json.dumps(config)]

    assert main([*words, "--output-json", str(output)]) == 0

    result = json.loads(output.read_text())
    metrics, training = result["metrics"], result["training"]
    assert metrics["score"] == pytest.approx(
        metrics["episode_reward_mean"] + 0.05 * metrics["heuristic_total"]
    )
    assert (training["train_iters"], training["reward_mean"]) == (1, metrics["episode_reward_mean"])
    assert Path(training["checkpoint"]).is_file()
    wrong = [*words[:-1], json.dumps({"train_batch": 32, "fragment_divisor": 3})]
    assert main([*wrong, "--output-json", str(output)]) == 2
