"""Learned policies beside the agents' rules, end to end: in shadow they change nothing, in force they need a gate."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bus.errors import ConfigError
from bus.events import event_of
from bus.recording import open_recording
from foresail.__main__ import main
from foresail.settings import resolve
from foresail.stack.virtual import run_virtual_stack
from lab.rerun.verify import verify
from schemas.decision import Decision
from schemas.learned import LearnedChoice, OutcomeLearned
from schemas.proposal import Proposal
from services.agents.learned_actions import KINDS
from services.learned_policy.card import Gate, PolicyCard
from services.learned_policy.choice import LearnedPolicy
from services.learned_policy.file import arrays_of, policy_bytes, read_policy, weights_digest
from services.learned_policy.network import ONE, TANH_POINTS, Layer, Network

AGENTS = ("safety", "efficiency", "admission")


def _write(folder: Path, agent: str, best: int, *, passes: bool = False, **card: Any) -> str:
    """Write a policy of an agent that likes one action best, then the lower ones; return its file."""
    count = len(KINDS[agent])
    bias = -ONE * np.arange(count, dtype=np.int64)
    bias[best] = ONE
    tanh = np.round(np.tanh(np.arange(TANH_POINTS) / 1_024) * ONE).astype(np.int64)
    network = Network((Layer(np.zeros((count, 6), dtype=np.int64), bias, "none"),), tanh)
    weights = weights_digest(arrays_of(network))
    gate = Gate(
        experiment="test", split="test", seeds=20, code="", passes=True, first_reason="", weights_sha256=weights
    ) if passes else None  # fmt: skip
    fields: dict[str, Any] = {
        "name": f"likes-{agent}", "algorithm": "PPO", "preset": "none", "environment": "Foresail/Agents-v1",
        "observation": "agents-baseline.v1", "observation_count": 6, "kind": "choice", "action_count": count,
        "masked": False, "seed": 0, "steps": 0, "weights_sha256": weights, "gate": gate,
        "arguments": {"agent": agent, "variant": "baseline"},
    }  # fmt: skip
    path = folder / f"{agent}.policy"
    path.write_bytes(policy_bytes(LearnedPolicy(PolicyCard(**(fields | card)), network)))
    return str(path)


def _run(path: Path | None, learned: dict[str, Any]) -> dict[type[Any], list[Any]]:
    """Play half a minute of cycles under the baseline's rules; return the data of its events by kind."""
    told: dict[type[Any], list[Any]] = defaultdict(list)
    run = {"workload": "openb", "nodes": 4, "seed": 3, "virtual_time": True, "for_seconds": 60.0,
           "interval_seconds": 5.0, "mode": "active", "untouched": "off",
           "record": None if path is None else str(path)}  # fmt: skip
    flags = {f"run.{name}": value for name, value in run.items() if value is not None}
    settings = resolve(
        None, {}, {**flags, "agents.profile": "baseline-rules", "agents.learned": learned}
    )
    run_virtual_stack(
        settings, quiet=True, listener=lambda event: told[type(event.data)].append(event.data)
    )
    return told


def test_in_shadow_nothing_changes_and_all_is_made_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Proposals and decisions are those of a run without policies; each cycle has a choice and a score for every agent,
    `verify` makes them again to the byte, and `explain` shows mask, scores and the runner-up.
    """
    files = {name: _write(tmp_path, name, 1) for name in AGENTS}
    path = tmp_path / "run.fslog"
    beside, alone = _run(path, {"files": files}), _run(None, {})
    assert beside[Proposal] == alone[Proposal]
    assert beside[Decision] == alone[Decision]
    choices: list[LearnedChoice] = beside[LearnedChoice]
    assert {one.agent for one in choices} == set(AGENTS)
    chosen = [one for one in choices if one.choice is not None]
    assert len(chosen) >= 3 * (len(alone[Decision]) - 1) > 20
    assert all((one.choice, one.runner_up, one.acts) == (1, 0, False) for one in chosen)
    scores: list[OutcomeLearned] = beside[OutcomeLearned]
    last = {one.agent: one for one in scores}["admission"]
    assert last.scored > last.agreed
    assert (
        last.policy_total < last.rules_total
    )  # it queues where there is room, which earns nothing
    report = verify(path)
    assert report.holds
    assert report.layers["proposal"].equal == len(beside[Proposal]) + len(choices)
    assert main(["explain", "5", "--recording", str(path)]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "C admission, in shadow: likes-admission would want admission:queue" in text
    assert "admission:queue 1 (chosen)" in text
    assert "admission:admit 0 (runner-up)" in text


def test_in_force_the_choice_is_proposed(tmp_path: Path) -> None:
    """The queue is held as the policy wants, referee and guard rails are as ever, and what the rules wanted is kept."""
    files = {"admission": _write(tmp_path, "admission", 1, passes=True)}
    path = tmp_path / "run.fslog"
    told = _run(path, {"files": files, "acting": ["admission"]})
    held = [
        one
        for one in told[Proposal]
        if one.agent == "admission" and one.profile.startswith("learned")
    ]
    assert len(held) > 8
    assert {one.action.full_kind for one in held} == {"admission:queue"}
    chosen = [one for one in told[LearnedChoice] if one.choice is not None]
    assert {one.rules.full_kind for one in chosen} == {"admission:admit"}
    assert any(one.action.full_kind == "admission:queue" for one in told[Decision])
    assert verify(path).holds
    first = next(
        event_of(message) for message in open_recording(path) if ".learned." in message.subject
    )
    assert len(first.causation_ids) >= 1


@pytest.mark.parametrize(
    ("card", "learned", "words"),
    [
        ({}, {"acting": ["admission"]}, "its card holds no result of `foresail learn gate`"),
        ({"environment": "CartPole-v1"}, {}, "trained in CartPole-v1"),
        ({"arguments": {"agent": "safety"}}, {}, "trained for agent safety"),
        ({"observation": "agents-full.v1"}, {}, "this version shows agents-baseline.v1"),
        ({}, {"files": {}, "acting": ["admission"]}, "it has no policy"),
        ({}, {"files": {"admision": "x"}}, "no agent is called so"),
    ],
)
def test_what_cannot_be_used_is_refused(
    tmp_path: Path, card: dict[str, Any], learned: dict[str, Any], words: str
) -> None:
    """Before anything starts, with the remedy; without a passed gate a policy is only watched."""
    given = {"files": {"admission": _write(tmp_path, "admission", 1, **card)}, **learned}
    with pytest.raises(ConfigError, match=words):
        resolve(None, {}, {"agents.profile": "baseline-rules", "agents.learned": given})


@pytest.mark.parametrize(("together", "acting", "allowed"), [
    (False, ("safety",), True), (False, AGENTS, False), (True, AGENTS, True), (True, ("safety",), False),
])  # fmt: skip
def test_only_those_act_that_acted_together_in_the_gate(
    tmp_path: Path, together: bool, acting: tuple[str, ...], allowed: bool
) -> None:
    """What was measured alone says nothing of three that act at once, nor the other way round."""
    files = {name: _write(tmp_path, name, 1, passes=True) for name in AGENTS}
    if together:
        policies = {name: read_policy(Path(file)) for name, file in files.items()}
        weights = {name: policy.card.weights_sha256 for name, policy in policies.items()}
        for name, policy in policies.items():
            assert policy.card.gate is not None
            gate = policy.card.gate.model_copy(update={"together": weights})
            card = policy.card.model_copy(update={"gate": gate})
            Path(files[name]).write_bytes(policy_bytes(LearnedPolicy(card, policy.network)))
    given = {
        "agents.profile": "baseline-rules",
        "agents.learned": {"files": files, "acting": acting},
    }
    if allowed:
        assert resolve(None, {}, given).agents.learned.acting == acting
        return
    with pytest.raises(ConfigError, match="and no others; let exactly those act"):
        resolve(None, {}, given)


def test_under_expected_value_it_may_only_be_watched(tmp_path: Path) -> None:
    """It never met those rules, and its proposals have no price to be compared by."""
    files = {"admission": _write(tmp_path, "admission", 1, passes=True)}
    with pytest.raises(ConfigError, match="not of foresail"):
        resolve(None, {}, {"agents.learned": {"files": files, "acting": ["admission"]}})
