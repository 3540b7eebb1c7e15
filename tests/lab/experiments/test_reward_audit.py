"""The reward audit: a reward that follows the score, one that does not, and what was paid for nothing."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from bus.recording import RecordingWriter
from foresail.__main__ import main
from lab.experiments.reward_audit import audit_rewards, rank_correlation
from schemas.envelope import Event
from schemas.outcome import AgentRewards, ExecutionPhase, RewardPart
from schemas.score import OutcomeScore
from tests import builders
from tests.dashboard.built_cycles import make_reward, stored_messages

CYCLES = 6


def _score(cycle: int, per_hour: float) -> OutcomeScore:
    return OutcomeScore(
        cycle=cycle, cluster_time_seconds=builders.cycle_time(cycle), step_seconds=15.0, total_seconds=15.0 * cycle,
        currency="USD", components=(), step_money=0.0, total_money=0.0, step_money_per_hour=per_hour,
        total_money_per_hour=0.0,
    )  # fmt: skip


def _events(
    reward: Callable[[int], float], queue: Callable[[int], int], refused: Sequence[int] = ()
) -> list[Event[Any]]:
    """Return a log whose score falls with the queue; every action earns a bonus of 5 beside the base of 1."""
    data: list[tuple[Any, int]] = []
    for cycle in range(1, CYCLES + 2):
        totals = {"queue_length": queue(cycle)}
        data.append((builders.make_observation(cycle=cycle, totals=totals), cycle))
        data.append((_score(cycle, -float(queue(cycle))), cycle))
    for cycle in range(1, CYCLES + 1):
        phase = ExecutionPhase.REFUSED if cycle in refused else ExecutionPhase.FINISHED
        data.append(
            (builders.make_execution(cycle=cycle, phase=phase, decision_id=str(cycle)), cycle)
        )
        parts = tuple(
            RewardPart(agent="safety", term=term, amount=amount)
            for term, amount in (("base", 1.0), ("replicate_at_risk", 5.0))
        )
        by_agent = {"safety": reward(cycle), "efficiency": 0.0, "admission": 0.0}
        observed = AgentRewards(by_agent=by_agent, total=reward(cycle))
        made = make_reward(cycle, decision_id=str(cycle), observed=observed, observed_parts=parts)
        data.append((made, cycle))
    return [
        builders.stamp_event(one, cycle=cycle, seq=seq) for seq, (one, cycle) in enumerate(data, 1)
    ]


def test_a_reward_that_rises_while_the_queue_grows_does_not_follow() -> None:
    """Reward and queue rise together, the score falls: correlation -1, and every step moves apart."""
    audit = audit_rewards(_events(float, lambda cycle: 40 * cycle))
    assert (audit.pairs, audit.rank_correlation, audit.queue_correlation) == (CYCLES, -1.0, 1.0)
    assert (audit.moved_apart, audit.moved_together) == (CYCLES - 1, 0)
    assert not audit.follows
    assert audit.most["queue_length"] == 40 * (CYCLES + 1)
    (moved,) = [
        one for one in audit.changes if (one.agent, one.field) == ("safety", "queue_length")
    ]
    assert (moved.rises, moved.mean_when_rising, moved.falls) == (CYCLES - 1, 1.0, 0)
    assert math.isnan(moved.mean_when_falling)


def test_what_is_paid_for_refused_actions_is_named() -> None:
    """Of six bonuses of 5 two went to actions that a guard refused; the base is no bonus."""
    audit = audit_rewards(_events(lambda cycle: -float(cycle), lambda cycle: cycle, refused=(2, 5)))
    assert audit.follows
    assert (audit.bonus, audit.bonus_not_done) == (30.0, 10.0)
    (row,) = audit.actions
    assert row.by_end == {"refused": 2, "nothing to do": 4}


def test_equal_values_share_their_ranks() -> None:
    """Spearman's by hand: ranks 1.5 1.5 3 4 and 1 2 3 4; nothing to say without a spread."""
    assert rank_correlation([(1, 1), (1, 2), (2, 3), (9, 4)]) == pytest.approx(
        4.5 / math.sqrt(4.5 * 5)
    )
    assert math.isnan(rank_correlation([(1, 1), (1, 2), (1, 3)]))
    assert math.isnan(rank_correlation([(1, 1), (2, 2)]))


@pytest.mark.parametrize(("reward", "code"), [(float, 1), (lambda cycle: -float(cycle), 0)])
def test_the_exit_code_says_whether_it_follows(
    reward: Callable[[int], float], code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """1 where it does not, and what was paid for nothing stands in the text."""
    file = tmp_path / "run.fslog"
    writer = RecordingWriter(file, {"cluster": "test"})
    for message in stored_messages(_events(reward, lambda cycle: cycle, refused=(1,))):
        writer.write(message)
    writer.seal()
    assert main(["experiment", "reward-audit", str(file)]) == code
    assert "of it 5 for actions that were refused" in capsys.readouterr().out
    assert main(["experiment", "reward-audit", str(file), "--json"]) == code
    assert json.loads(capsys.readouterr().out)["follows"] is (code == 0)


def test_a_recording_without_scores_compares_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """An old recording has rewards but no score: exit code 4."""
    golden = Path(__file__).parents[2] / "golden" / "v1.fslog"
    assert main(["experiment", "reward-audit", str(golden)]) == 4
    assert "cannot be compared" in capsys.readouterr().out
