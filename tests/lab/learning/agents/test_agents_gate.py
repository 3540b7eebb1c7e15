"""Policies of the three agents are judged beside the agents' rules, in money and not in what they were paid by."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pettingzoo", reason="needs the extra `learn`")

from foresail.__main__ import main
from lab.learning.export.quantise import tanh_table
from lab.learning.multi_agent.gate import judge_agents_gate, judge_worlds
from lab.learning.multi_agent.worlds import AgentsEpisode
from services.agents.learned_actions import KINDS
from services.learned_policy.card import PolicyCard
from services.learned_policy.choice import LearnedPolicy
from services.learned_policy.file import arrays_of, policy_bytes, read_policy, weights_digest
from services.learned_policy.network import ONE, Layer, Network


def _episodes(
    count: int, dollars: float, total: float, waiting: float, seed: int
) -> list[AgentsEpisode]:
    draws = np.random.default_rng(seed)
    return [
        AgentsEpisode(
            number, total + draws.normal(0, 1), {}, dollars + draws.normal(0, 0.1), {"waiting/none": -waiting}
        )
        for number in range(count)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("dollars", "total", "waiting", "worlds", "why"),
    [
        (-9.0, 5.0, 1.0, 20, ""),
        (-10.0, 5.0, 1.0, 20, "shown on no workload"),
        (-11.0, 50.0, 1.0, 20, "outcome score below the rules'"),
        (-9.0, -5.0, 1.0, 20, "scoreboard's total below the rules'"),
        (-9.0, 5.0, 1.2, 20, "waiting cost 1.2 USD/h, 1 under the rules"),
        (-9.0, 5.0, 1.0, 19, "20 are asked for"),
    ],
)
def test_what_passes(dollars: float, total: float, waiting: float, worlds: int, why: str) -> None:
    """A gain in money that no guard pays for; being paid more for a loss of money does not pass."""
    rules = _episodes(worlds, -10.0, 5.0, 1.0, 1)
    answer = judge_agents_gate(
        [judge_worlds("openb", _episodes(worlds, dollars, total, waiting, 1 + (dollars != -10.0)), rules)]
    )  # fmt: skip
    assert answer.passes == (not why)
    assert any(why in reason for reason in answer.reasons)


def _throttler(folder: Path, name: str = "A") -> Path:
    """Write a policy of agent A that always wants to throttle."""
    kinds = KINDS["safety"]
    bias = np.zeros(len(kinds), dtype=np.int64)
    bias[kinds.index("throttle")] = ONE
    network = Network(
        (Layer(np.zeros((len(kinds), 6), dtype=np.int64), bias, "none"),), tanh_table()
    )
    card = PolicyCard(
        name="throttler", algorithm="PPO", preset="none", environment="Foresail/Agents-v1", kind="choice", masked=False,
        observation="agents-baseline.v1", observation_count=6, action_count=len(kinds), seed=0, steps=0,
        arguments={"agent": "safety", "variant": "baseline"}, weights_sha256=weights_digest(arrays_of(network)),
        hyper_parameters={"world": {"nodes": 4, "workload": "google2011", "reward": "total"}},
    )  # fmt: skip
    path = folder / f"{name}.policy"
    path.write_bytes(policy_bytes(LearnedPolicy(card, network)))
    return path


def test_the_command_writes_the_answer_into_the_card(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two small worlds are too few to pass; what was measured stands in the card, and the weights are the same."""
    path = _throttler(tmp_path)
    before = read_policy(path)
    words = ["learn", "gate", str(path), "--streams", "2", "--env-argument", "steps=8"]
    assert main(words) == 1
    assert "2 worlds, and 20 are asked for" in capsys.readouterr().out
    card = read_policy(path).card
    assert card.gate is not None
    assert (card.gate.passes, card.gate.experiment, card.gate.seeds) == (False, "google2011", 2)
    assert card.gate.weights_sha256 == before.card.weights_sha256
    dollars, total = card.figures
    assert dollars.metric.startswith("outcome score less the rules'")
    assert total.value != 0.0


def test_two_of_one_agent_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Only one of them could act."""
    files = [str(_throttler(tmp_path, name)) for name in ("one", "two")]
    assert main(["learn", "gate", *files]) == 2
    assert "another file is of agent safety" in capsys.readouterr().err
