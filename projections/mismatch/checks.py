"""The five checks: each says from what is remembered whether something does not fit now."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from projections.figures import number
from projections.mismatch.settings import MismatchSettings
from projections.mismatch.tally import DecidedCycle, MismatchTally
from schemas.figures import signed_score
from schemas.mismatch import Mismatch, MismatchKind
from schemas.wording import count_text


def stage_without_samples(tally: MismatchTally, settings: MismatchSettings) -> Mismatch | None:
    """Say that a stage completed without a sample; ends when it begins again, or a sample comes after all."""
    del settings
    stage = tally.without_samples
    if stage is None:
        return None
    what = "no observation of the cluster is in the log" if stage.of_cluster else "it had 0 samples"
    return Mismatch(
        kind=MismatchKind.STAGE_WITHOUT_SAMPLES,
        about=stage.stage,
        since_cycle=stage.cycle,
        since_seconds=stage.time_seconds,
        measured=0,
        limit=1,
        unit="samples",
        text=f"stage {stage.stage} says that it is complete, but {what}",
        remedy="look at its input and at what the collector could read (`foresail status`)",
    )


def stimulus_without_effect(tally: MismatchTally, settings: MismatchSettings) -> Mismatch | None:
    """Say that load is on and the number that it is to move has not risen."""
    on = tally.stimulus
    if on is None or on.moved or tally.cycle - on.cycle < settings.stimulus_cycles:
        return None
    unit = "pods" if on.measure == "queue" else "share of allocatable"
    flat = count_text(tally.cycle - on.cycle, "cycle")
    return Mismatch(
        kind=MismatchKind.STIMULUS_WITHOUT_EFFECT,
        about=on.name,
        since_cycle=on.cycle,
        since_seconds=tally.time_seconds,
        measured=on.before,
        limit=on.before,
        unit=unit,
        text=f"stimulus {on.name} is on for {flat}, but the {on.measure} is flat at {number(on.before)}",
        remedy="see whether its pods exist and whether its namespace is watched (`run.namespaces`)",
    )


def raw_and_interpreted(tally: MismatchTally, settings: MismatchSettings) -> Mismatch | None:
    """Say that snapshot and observation, or node and prediction, tell two stories."""
    ahead = tally.snapshot_cycle - tally.cycle
    if tally.observations and ahead >= settings.lag_cycles:
        return _raw(
            tally,
            "observation",
            (ahead, settings.lag_cycles, "cycles"),
            f"the snapshot is of cycle {tally.snapshot_cycle}, the newest observation of cycle {tally.cycle}",
            "look for the collector's errors (`foresail tap 'run.error.>'`)",
        )
    if tally.pods_cycle and tally.snapshot_pods and tally.observed_pods:
        (total, running), (seen, seen_running) = tally.snapshot_pods, tally.observed_pods
        return _raw(
            tally,
            "pods",
            (seen, total, "pods"),
            f"the snapshot has {running} of {total} pods running, the observation of the same cycle "
            f"{seen_running} of {seen}",
            "compare both events (`foresail tap snapshot.workloads observation`)",
        )
    if tally.calm_cycles >= settings.unready_cycles:
        return _raw(
            tally,
            tally.calm_node,
            (tally.calm_risk, settings.low_risk_ratio, "risk"),
            f"node {tally.calm_node} is not ready, and {count_text(tally.calm_cycles, 'prediction')} in a row "
            f"gave it a risk of {number(tally.calm_risk)} or so",
            "ask what the model saw (`foresail explain`), or use another one (`--model`)",
        )
    return None


def _raw(
    tally: MismatchTally, about: str, figures: tuple[float, float, str], text: str, remedy: str
) -> Mismatch:
    measured, limit, unit = figures
    return Mismatch(
        kind=MismatchKind.RAW_AND_INTERPRETED,
        about=about,
        since_cycle=tally.cycle,
        since_seconds=tally.time_seconds,
        measured=measured,
        limit=limit,
        unit=unit,
        text=text,
        remedy=remedy,
    )


def _same_decisions(tally: MismatchTally) -> tuple[DecidedCycle, ...]:
    """Return the newest decisions that are the same, oldest first."""
    if not tally.decided:
        return ()
    newest = tally.decided[-1]
    return tuple(one for one in tally.decided if newest.cycle - one.cycle < newest.repeats)


def reward_without_decision(tally: MismatchTally, settings: MismatchSettings) -> Mismatch | None:
    """Say that the newest rewards of one unchanged decision lie far apart."""
    rewards = [one.reward for one in _same_decisions(tally) if one.reward is not None]
    rewards = rewards[-settings.reward_cycles :]
    if len(rewards) < settings.reward_cycles:
        return None
    apart = max(rewards) - min(rewards)
    if apart < settings.reward_points:
        return None
    label = tally.decided[-1].label
    return Mismatch(
        kind=MismatchKind.REWARD_WITHOUT_DECISION,
        about=label,
        since_cycle=tally.cycle,
        since_seconds=tally.time_seconds,
        measured=apart,
        limit=settings.reward_points,
        unit="points",
        text=f"the reward went from {signed_score(rewards[0])} to {signed_score(rewards[-1])} "
        f"in {count_text(len(rewards), 'cycle')}, and the decision stayed {label}",
        remedy="ask why nothing else is wanted (`foresail explain`)",
    )


def repeat_without_effect(tally: MismatchTally, settings: MismatchSettings) -> Mismatch | None:
    """Say that a decision is repeated though nothing of it was seen to take effect.

    In mode shadow nothing can take effect, so that repeating says nothing.
    """
    same = _same_decisions(tally)
    if not same or not same[-1].wants or same[-1].repeats < settings.repeat_cycles:
        return None
    refused, finished = sum(one.refused for one in same), sum(one.finished for one in same)
    unseen = sum(one.unseen for one in same)
    in_vain = refused >= settings.repeat_cycles or unseen > 0
    if any(one.seen for one in same) or not in_vain or finished > unseen:
        return None
    why = next((one.why for one in reversed(same) if one.why), "")
    became = [f"{refused} times refused ({why})"] if refused else []
    became += [f"{finished} times done and not seen to work"] if finished else []
    newest = same[-1]
    return Mismatch(
        kind=MismatchKind.REPEAT_WITHOUT_EFFECT,
        about=newest.label,
        since_cycle=tally.cycle,
        since_seconds=tally.time_seconds,
        measured=newest.repeats,
        limit=settings.repeat_cycles,
        unit="cycles",
        text=f"{newest.label} was decided {newest.repeats} times in a row without effect: {', '.join(became)}",
        remedy="see which guard says no (`foresail explain`)",
    )


CHECKS: Mapping[MismatchKind, Callable[[MismatchTally, MismatchSettings], Mismatch | None]] = {
    MismatchKind.STAGE_WITHOUT_SAMPLES: stage_without_samples,
    MismatchKind.STIMULUS_WITHOUT_EFFECT: stimulus_without_effect,
    MismatchKind.RAW_AND_INTERPRETED: raw_and_interpreted,
    MismatchKind.REWARD_WITHOUT_DECISION: reward_without_decision,
    MismatchKind.REPEAT_WITHOUT_EFFECT: repeat_without_effect,
}
