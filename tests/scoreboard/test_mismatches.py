"""What does not fit is said once when it begins and once when it ends, and a re-run says the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from lab.rerun.scoring import ScoringStage
from lab.rerun.settings import NO_CHANGES
from projections.mismatch.settings import MismatchSettings
from projections.mismatch.silent_stage import silent_stage_text
from schemas.actions import ActionKind
from schemas.envelope import Event
from schemas.mismatch import MismatchKind, OutcomeMismatch, mismatch_text
from schemas.model import EventData
from schemas.outcome import AgentRewards, ExecutionPhase, Mode, OutcomeReward, VerificationStatus
from schemas.run import RunStage
from schemas.snapshot import SnapshotWorkloads
from services.scoreboard.mismatches import Mismatches
from services.scoreboard.service import build
from services.scoreboard.settings import ScoreboardSettings
from tests.builders import (
    ORIGIN,
    Rows,
    as_stored,
    cycle_time,
    make_action,
    make_config,
    make_decision,
    make_execution,
    make_observation,
    make_risk,
    make_stimulus,
    make_verification,
    stamp_event,
)
from tests.rerun.conftest import recorded_of

SETTINGS = ScoreboardSettings()


class MismatchWorld:
    """A scoreboard and the log that it reads and writes."""

    def __init__(self) -> None:
        """Begin with an empty log."""
        self.handler = build(SETTINGS, ORIGIN)
        self.state = self.handler.initial()
        self.log: list[Event[Any]] = []

    def take(self, data: EventData) -> Event[Any]:
        """Store an event, then what the scoreboard says to it."""
        event = self._store(stamp_event(data))
        for new in self.handler.decide(self.state, overdue=False):
            self._store(stamp_event(new.data, causes=new.causes))
        return event

    def _store(self, event: Event[Any]) -> Event[Any]:
        stored = as_stored(event, seq=len(self.log) + 1)
        self.log.append(stored)
        self.state = self.handler.evolve(self.state, stored)
        return stored

    def observe(self, cycles: Sequence[int], nodes: Rows | int = 3, **totals: Any) -> None:
        """Observe the same cluster in some cycles."""
        for cycle in cycles:
            self.take(make_observation(nodes, cycle=cycle, totals=totals))

    @property
    def told(self) -> list[tuple[MismatchKind, str]]:
        """What was published: kind and state."""
        return [(one.kind, one.state) for one in self.changes]

    @property
    def changes(self) -> list[OutcomeMismatch]:
        """The mismatches' events, in order."""
        return [one.data for one in self.log if isinstance(one.data, OutcomeMismatch)]


def stage(status: str, name: str = "live", samples: int | None = None) -> RunStage:
    """Return a stage of the stack."""
    return RunStage.model_validate(
        {"run_id": "r", "process": "stack", "stage": name, "status": status, "samples": samples}
    )


@pytest.mark.parametrize(
    ("events", "found"),
    [
        ((stage("started"), stage("complete")), True),
        ((stage("started"), make_observation(cycle=1), stage("complete")), False),
        ((stage("complete", "dataset", 0),), True),
        ((stage("complete", "dataset", 12),), False),
        ((stage("complete", "dataset"),), False),
    ],
)
def test_a_stage_that_completes_without_samples_is_named(
    events: Sequence[EventData], found: bool
) -> None:
    """Of the live stage a sample is an observation; others say how many they had, or count nothing."""
    world = MismatchWorld()
    for data in events:
        world.take(data)

    assert [MismatchKind.STAGE_WITHOUT_SAMPLES for _ in world.changes] == (
        [MismatchKind.STAGE_WITHOUT_SAMPLES] if found else []
    )
    if found:
        (mismatch,) = world.changes[0].standing
        assert mismatch.about == events[-1].stage  # type: ignore[attr-defined]
        assert "foresail status" in mismatch_text(mismatch)


@pytest.mark.parametrize("unschedulable", [True, False])
def test_a_stimulus_without_effect_is_named_until_the_number_rises(unschedulable: bool) -> None:
    """Five observations after the load was applied queue or requested CPU is as before: said once; then it rises."""
    world = MismatchWorld()
    world.observe([1, 2])
    world.take(make_stimulus(status="applied", cycle=2, replicas=12, unschedulable=unschedulable))
    world.observe(range(3, 10))
    flat = list(world.told)
    busy: dict[str, Any] = {"queue_length": 12} if unschedulable else {"cpu_requested_ratio": 0.9}
    world.observe([10], **busy)

    kind = MismatchKind.STIMULUS_WITHOUT_EFFECT
    assert flat == [(kind, "begun")]
    assert world.told == [(kind, "begun"), (kind, "ended")]
    assert world.changes[0].cycle == 7
    assert world.changes[-1].standing == ()


def test_a_stimulus_that_moves_the_queue_is_silent() -> None:
    """The queue rises with the second observation, and whatever it does afterwards is no mismatch."""
    world = MismatchWorld()
    world.observe([1])
    world.take(make_stimulus(status="applied", cycle=1, replicas=12, unschedulable=True))
    world.observe([2])
    world.observe([3], queue_length=12)
    world.observe(range(4, 12))

    assert world.told == []


def snapshot(cycle: int, total: int, running: int) -> SnapshotWorkloads:
    """Return the counts of a snapshot, without its tables."""
    frame = {
        "frame": "delta",
        "keyframe_cycle": 1,
        "previous_cycle": 1,
        "state_hash": "0",
        "deltas": {},
    }
    return SnapshotWorkloads.model_validate(
        {"cycle": cycle, "cluster_time_seconds": cycle_time(cycle), "pods_running": running, "pods_total": total,
         "bare_pods_succeeded": 0, "workloads": None, "pods": None, "frame": frame}
    )  # fmt: skip


def test_raw_and_interpreted_counts_are_compared() -> None:
    """An observation that counts other pods than its snapshot is named, and so is one that does not come."""
    world = MismatchWorld()
    (pods,) = {make_observation(cycle=1).totals.pods_total}
    world.take(snapshot(1, pods, pods))
    world.observe([1])
    assert world.told == []

    world.take(snapshot(2, pods + 12, pods))
    world.observe([2])
    assert f"{pods} of {pods + 12} pods running" in world.changes[0].text

    world.take(snapshot(3, pods, pods))
    world.observe([3])
    for cycle in (4, 5, 6):
        world.take(snapshot(cycle, pods, pods))

    assert [state for _, state in world.told] == ["begun", "ended", "begun"]
    assert world.changes[-1].text == "the snapshot is of cycle 6, the newest observation of cycle 3"


def test_a_node_that_is_not_ready_and_judged_healthy_is_named() -> None:
    """After three predictions in a row; one that sees it ends the mismatch."""
    world = MismatchWorld()
    nodes: Rows = {"node-0": {"ready": False}, "node-1": {}}
    for cycle, risk in ((1, 0.05), (2, 0.04), (3, 0.05), (4, 0.95)):
        world.observe([cycle], nodes=nodes)
        world.take(make_risk({"node-0": risk, "node-1": 0.01}, cycle=cycle))

    assert world.told == [
        (MismatchKind.RAW_AND_INTERPRETED, "begun"),
        (MismatchKind.RAW_AND_INTERPRETED, "ended"),
    ]
    assert world.changes[0].standing[0].about == "node-0"
    assert world.changes[0].cycle == 3


def decide(world: MismatchWorld, cycle: int, repeats: int) -> Event[Any]:
    """Decide the same action as before."""
    action = make_action("safety", ActionKind.REPLICATE)
    return world.take(make_decision(action, cycle=cycle, repeat_count=repeats))


def reward(decision: Event[Any], total: float) -> OutcomeReward:
    """Return what a decision was paid."""
    rewards = AgentRewards(by_agent={"safety": total}, total=total)
    return OutcomeReward.model_validate(
        {"cycle": decision.cycle, "cluster_time_seconds": cycle_time(decision.cycle + 1),
         "decision_id": decision.id, "observed_cycle": decision.cycle + 1, "action_kind": "replicate",
         "selected_agent": "safety", "scale": "seed-rewards/1", "weights": {"safety": 1.0}, "observed": rewards,
         "predicted": rewards, "observed_parts": (), "predicted_parts": (), "mean_total": 0.0, "scored": 1}
    )  # fmt: skip


@pytest.mark.parametrize(("step", "found"), [(1.5, True), (0.5, False)])
def test_a_reward_that_moves_alone_is_named(step: float, found: bool) -> None:
    """Six rewards of one decision lie 7.5 points apart, or 2.5; another decision ends it."""
    world = MismatchWorld()
    for cycle in range(1, 7):
        world.take(reward(decide(world, cycle, cycle), 2.0 - step * cycle))
    told = list(world.told)
    decide(world, 7, 1)

    kind = MismatchKind.REWARD_WITHOUT_DECISION
    assert told == ([(kind, "begun")] if found else [])
    assert len(world.told) == (2 if found else 0)


@pytest.mark.parametrize(
    ("mode", "phase", "status", "found"),
    [
        (Mode.ACTIVE, ExecutionPhase.REFUSED, None, True),
        (Mode.ACTIVE, ExecutionPhase.FINISHED, VerificationStatus.FAILED, True),
        (Mode.ACTIVE, ExecutionPhase.FINISHED, VerificationStatus.VERIFIED, False),
        (Mode.SHADOW, ExecutionPhase.FINISHED, None, False),
    ],
)
def test_a_decision_repeated_without_effect_is_named(
    mode: Mode, phase: ExecutionPhase, status: VerificationStatus | None, found: bool
) -> None:
    """Refused six times, or done and never seen; not where it was seen, nor where nothing can be done."""
    world = MismatchWorld()
    for cycle in range(1, 8):
        decide(world, cycle, cycle)
        done = world.take(make_execution(cycle=cycle, mode=mode, phase=phase))
        if status is not None:
            world.take(make_verification(cycle=cycle, execution_id=done.id, status=status))

    assert world.told[:1] == ([(MismatchKind.REPEAT_WITHOUT_EFFECT, "begun")] if found else [])


def test_a_re_run_and_a_restart_say_the_same() -> None:
    """The stage computes each change from the log; without the setting, as before there were mismatches, none."""
    world = MismatchWorld()
    world.observe([1])
    world.take(make_stimulus(status="applied", cycle=1, replicas=12, unschedulable=True))
    world.observe(range(2, 9))
    kept = Mismatches.model_validate_json(world.state.mismatches.model_dump_json())  # type: ignore[union-attr]
    pairs = []
    stage = ScoringStage(NO_CHANGES, ORIGIN, from_start=True)
    stage.configure(make_config("scoreboard", **SETTINGS.announcement()))
    for event in world.log:
        if event.producer == "scoreboard":
            pairs += stage.answer(recorded_of(event))
        else:
            stage.take(event)

    assert kept == world.state.mismatches
    assert len(pairs) == len(world.changes) == 1
    assert pairs[0].equal
    off = ScoreboardSettings(mismatch=MismatchSettings(enabled=False))
    assert "mismatch" not in off.announcement()


def test_a_stage_that_stays_silent_is_noticed_by_whoever_asks() -> None:
    """Young, or with an observation since: nothing."""
    assert silent_stage_text("live", 20.0, None) is None
    assert silent_stage_text("live", 90.0, 3.0) is None
    for observed in (None, 300.0):
        text = silent_stage_text("live", 90.0, observed)
        assert text is not None
        assert "stage live began 90 s ago" in text
