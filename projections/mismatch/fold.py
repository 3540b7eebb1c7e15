"""Mismatches as a fold over the log: what an event changes, and which begin and end with it."""

from __future__ import annotations

from typing import Any

from projections.mismatch.checks import CHECKS
from projections.mismatch.settings import MismatchSettings
from projections.mismatch.tally import (
    KEPT_CYCLES,
    KEPT_STAGES,
    KEPT_TOTALS,
    AppliedStimulus,
    CompletedStage,
    DecidedCycle,
    MismatchTally,
)
from schemas.agents import action_label
from schemas.decision import Decision
from schemas.envelope import Event
from schemas.mismatch import Mismatch, OutcomeMismatch
from schemas.observation import ClusterTotals, Observation, ObservedNodes
from schemas.outcome import (
    ExecutionPhase,
    Mode,
    OutcomeExecution,
    OutcomeReward,
    OutcomeVerification,
    VerificationStatus,
)
from schemas.prediction import PredictionRisk
from schemas.run import RunStage
from schemas.snapshot import SnapshotWorkloads
from schemas.stimulus import Stimulus

OF_CLUSTER = frozenset({"live", "live_kubernetes_loop"})
"""Stages whose samples are observations of the cluster; the second is the predecessor's."""
LEAST_MOVE = 0.001
"""Share of a cluster's CPU that counts as moved."""


def mismatch_after(
    tally: MismatchTally,
    event: Event[Any],
    nodes: ObservedNodes | None,
    settings: MismatchSettings,
) -> tuple[MismatchTally, tuple[OutcomeMismatch, ...]]:
    """Return the tally after a stored event, and the events that tell what begins and ends with it.

    Args:
        tally: what was remembered before.
        event: any event; those that no check rests on change nothing.
        nodes: the full table of an observation, which travels as a delta; None: not known.
        settings: when something counts.
    """
    after = _after(
        tally,
        event.data,
        event.data.cluster_time_seconds if _has_time(event) else 0.0,
        nodes,
        settings,
    )
    if after is tally:
        return tally, ()
    changes = []
    for kind, check in CHECKS.items():
        before = next((one for one in after.standing if one.kind is kind), None)
        found = check(after, settings)
        if (found is None) == (before is None):
            continue
        standing = tuple(one for one in after.standing if one.kind is not kind)
        if found is not None:
            standing = tuple(sorted((*standing, found), key=lambda one: one.kind))
        after = after.model_copy(update={"standing": standing, "number": after.number + 1})
        changes.append(_event_of(after, found, before))
    return after, tuple(changes)


def _has_time(event: Event[Any]) -> bool:
    return hasattr(event.data, "cluster_time_seconds")


def _event_of(
    tally: MismatchTally, found: Mismatch | None, before: Mismatch | None
) -> OutcomeMismatch:
    shown = found or before
    assert shown is not None
    return OutcomeMismatch(
        cycle=tally.cycle,
        cluster_time_seconds=tally.time_seconds,
        number=tally.number,
        kind=shown.kind,
        state="ended" if found is None else "begun",
        text=f"no longer: {shown.text}" if found is None else shown.text,
        standing=tally.standing,
    )


def _after(
    tally: MismatchTally,
    data: Any,
    time_seconds: float,
    nodes: ObservedNodes | None,
    settings: MismatchSettings,
) -> MismatchTally:
    match data:
        case SnapshotWorkloads(cycle=cycle, pods_total=total, pods_running=running):
            return _with(tally, snapshot_cycle=cycle, snapshot_pods=(total, running))
        case Observation():
            return _after_observation(tally, data, nodes)
        case PredictionRisk():
            return _after_risk(tally, data, settings)
        case Decision():
            return _after_decision(tally, data)
        case OutcomeReward(cycle=cycle, observed=observed) if observed is not None:
            return _with_decided(tally, cycle, reward=observed.total)
        case OutcomeExecution():
            return _after_execution(tally, data)
        case OutcomeVerification():
            return _after_verification(tally, data)
        case Stimulus():
            return _with(tally, stimulus=_applied(tally, data))
        case RunStage():
            return _after_stage(tally, data, time_seconds)
        case _:
            return tally


def _with(tally: MismatchTally, **update: Any) -> MismatchTally:
    return tally.model_copy(update=update)


def _after_observation(
    tally: MismatchTally, data: Observation, nodes: ObservedNodes | None
) -> MismatchTally:
    totals = data.totals
    queue = (*tally.queue, totals.queue_length)[-KEPT_TOTALS:]
    cpu = (*tally.cpu, totals.cpu_requested_ratio)[-KEPT_TOTALS:]
    pods = (totals.pods_total, totals.pods_running)
    differ = data.cycle == tally.snapshot_cycle and pods != tally.snapshot_pods
    stimulus, stage = tally.stimulus, tally.without_samples
    if stimulus is not None and not stimulus.moved:
        stimulus = stimulus.model_copy(update={"moved": _moved(stimulus, totals)})
    return _with(
        tally,
        cycle=data.cycle,
        time_seconds=data.cluster_time_seconds,
        observations=tally.observations + 1,
        without_samples=None if stage is not None and stage.of_cluster else stage,
        observed_pods=pods,
        pods_cycle=data.cycle if differ else 0,
        queue=queue,
        cpu=cpu,
        unready=() if nodes is None else _unready(nodes),
        stimulus=stimulus,
    )


def _moved(stimulus: AppliedStimulus, totals: ClusterTotals) -> bool:
    """Say whether the load shows: more pods wait, or other CPU is requested (the phase before may have had more)."""
    if stimulus.measure == "queue":
        return totals.queue_length > stimulus.before
    return abs(totals.cpu_requested_ratio - stimulus.before) >= LEAST_MOVE


def _unready(nodes: ObservedNodes) -> tuple[str, ...]:
    """Return the nodes that should run and are not ready."""
    return tuple(
        name
        for name, ready, power in zip(nodes.ids, nodes.ready, nodes.power_state, strict=True)
        if not ready and power == "on"
    )


def _after_risk(
    tally: MismatchTally, data: PredictionRisk, settings: MismatchSettings
) -> MismatchTally:
    if data.cycle != tally.cycle:
        return tally
    unready = set(tally.unready)
    calm = [
        (ratio, name)
        for name, ratio in zip(data.nodes.ids, data.nodes.risk_ratio, strict=True)
        if name in unready and ratio <= settings.low_risk_ratio
    ]
    if not calm:
        return tally if not tally.calm_cycles else _with(tally, calm_cycles=0)
    risk, node = min(calm)
    return _with(tally, calm_cycles=tally.calm_cycles + 1, calm_risk=risk, calm_node=node)


def _after_decision(tally: MismatchTally, data: Decision) -> MismatchTally:
    decided = DecidedCycle(
        cycle=data.cycle,
        label=" + ".join(action_label(action) for action in data.actions),
        wants=data.wants,
        repeats=data.repeat_count,
    )
    return _with(tally, decided=(*tally.decided, decided)[-KEPT_CYCLES:])


def _with_decided(tally: MismatchTally, cycle: int, **update: Any) -> MismatchTally:
    """Return the tally with something more about the decision of a cycle; the same where it is not kept."""
    if not any(one.cycle == cycle for one in tally.decided):
        return tally
    decided = (
        one.model_copy(update=update) if one.cycle == cycle else one for one in tally.decided
    )
    return _with(tally, decided=tuple(decided))


def _after_execution(tally: MismatchTally, data: OutcomeExecution) -> MismatchTally:
    one = next((one for one in tally.decided if one.cycle == data.cycle), None)
    if one is None or data.rollback_of or data.mode is not Mode.ACTIVE:
        return tally
    if data.phase is ExecutionPhase.REFUSED:
        return _with_decided(tally, data.cycle, refused=one.refused + 1, why=str(data.reason or ""))
    if data.phase is ExecutionPhase.FINISHED:
        return _with_decided(tally, data.cycle, finished=one.finished + 1)
    return tally


def _after_verification(tally: MismatchTally, data: OutcomeVerification) -> MismatchTally:
    one = next((one for one in tally.decided if one.cycle == data.cycle), None)
    if one is None or data.status is VerificationStatus.UNVERIFIABLE:
        return tally
    if data.status is VerificationStatus.VERIFIED:
        return _with_decided(tally, data.cycle, seen=one.seen + 1)
    return _with_decided(tally, data.cycle, unseen=one.unseen + 1)


def _applied(tally: MismatchTally, data: Stimulus) -> AppliedStimulus | None:
    """Return the phase whose load is on now; None where none is, or it moves no number upwards."""
    if data.status != "applied" or not data.replicas:
        return None
    measure = "queue" if data.unschedulable else "requested CPU"
    values = tally.queue if data.unschedulable else tally.cpu
    before = min(values, default=0)
    # The load may have been seen before this event was stored: then the values before it are not level.
    moved = max(values, default=0) > before
    return AppliedStimulus(
        name=data.name,
        cycle=max(data.cycle, tally.cycle),
        measure=measure,
        before=before,
        moved=moved,
    )


def _after_stage(tally: MismatchTally, data: RunStage, time_seconds: float) -> MismatchTally:
    of_cluster = data.stage in OF_CLUSTER
    if data.status == "started":
        begun = dict([*tally.begun.items(), (data.stage, tally.observations)][-KEPT_STAGES:])
        stage = tally.without_samples
        again = stage is not None and stage.stage == data.stage
        return _with(tally, begun=begun, without_samples=None if again else stage)
    if data.status != "complete":
        return tally
    none = data.samples == 0
    if of_cluster and data.samples is None:
        none = tally.observations == tally.begun.get(data.stage, 0)
    if not none:
        return tally
    stage = CompletedStage(
        stage=data.stage,
        cycle=tally.cycle,
        time_seconds=time_seconds or tally.time_seconds,
        of_cluster=of_cluster,
    )
    return _with(tally, without_samples=stage)
